package run

import (
	"context"
	"errors"
	"reflect"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/retry"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

const (
	// readinessDeadlineSlack is how long a running operation may continue after its run ended or
	// was interrupted. The operation then stops waiting, and records that in the release.
	readinessDeadlineSlack = 10 * time.Second
	// snapshotTimeout is how long requests to a cluster are repeated if it responds but does not list
	// its releases.
	snapshotTimeout = 5 * time.Second
)

// Snapshot lists the releases. If a cluster does not respond at all, the request is not repeated:
// nothing was begun there.
func (g guarded) Snapshot(ctx context.Context) (snapshot release.Snapshot, err error) {
	defer panics.Recover("listing the releases", &err)
	return repeat(ctx, g, attempts{limit: snapshotTimeout, doing: "reading the cluster"}, func() (release.Snapshot, error) {
		snapshot, err := g.next.Snapshot(ctx)
		if !isBusy(err) {
			err = retry.Permanent(err)
		}
		return snapshot, err
	})
}

// Write carries out an action. An action that failed for a temporary reason is tried again inside its
// time. The result of an interrupted write is unknown. So before the next attempt the release is read,
// and its action is decided again, as the next apply would do.
func (g guarded) Write(
	ctx context.Context, action release.Action, d target.Deployment, observed *release.Observed, w release.Write,
) (written release.Written, err error) {
	defer panics.Recover(recoverTo(action.Doing(), d.Namespace, d.Release), &err)
	lasting, cancel := extendDeadline(ctx, readinessDeadlineSlack)
	defer cancel()
	deadline := time.Now().Add(w.Timeout)
	first := true
	revision := 0
	of := attempts{limit: w.Timeout, bundle: d.Bundle.Name, doing: action.Doing(), slot: w.Slot, listener: w.Listener}
	return repeat(ctx, g, of, func() (release.Written, error) {
		if !first {
			now, err := g.next.Release(lasting, d.Namespace, d.Release)
			if err != nil {
				return release.Written{Revision: revision}, retryable(err)
			}
			// The former facts do not apply to a record that has changed since. For an unchanged
			// record, the first decision is still right.
			if isChanged(observed, now) {
				facts := release.Facts{FromEngine: w.Known != nil && w.Known.Engine}
				if action, err = release.Decide(facts, w.Claimant(), now, w.TakeOwnership); err != nil {
					return release.Written{Revision: revision}, retry.Permanent(err)
				}
			}
			observed = now
			w.Timeout = time.Until(deadline)
		}
		first = false
		written, err := g.next.Write(lasting, action, d, observed, w)
		written.Revision = max(written.Revision, revision)
		revision = written.Revision
		return written, retryable(err)
	})
}

func isChanged(before, now *release.Observed) bool {
	if before == nil || now == nil {
		return before != now
	}
	return !reflect.DeepEqual(*before, *now)
}

// Uninstall removes a release as long as it belongs to the target. The steps after the removal,
// such as removing the namespace, are tried again even if the release no longer exists: no later
// apply would try them.
func (g guarded) Uninstall(ctx context.Context, observed release.Observed, removal release.Removal) (removed release.Removed, err error) {
	defer panics.Recover(recoverTo(deploy.Removing, observed.Namespace, observed.Release), &err)
	lasting, cancel := extendDeadline(ctx, readinessDeadlineSlack)
	defer cancel()
	deadline := time.Now().Add(removal.Timeout)
	first := true
	var kept []string
	of := attempts{limit: removal.Timeout, bundle: observed.Mark.Bundle, doing: release.Uninstall.Doing(), listener: removal.Listener}
	return repeat(ctx, g, of, func() (release.Removed, error) {
		if !first {
			now, err := g.next.Release(lasting, observed.Namespace, observed.Release)
			if err != nil {
				return release.Removed{Kept: kept}, retryable(err)
			}
			if now != nil {
				action, err := release.DecideRemoval(removal.Claimant(), now, removal.TakeOwnership)
				if action != release.Uninstall {
					return release.Removed{Kept: kept}, retry.Permanent(err)
				}
				observed = *now
			}
			removal.Timeout = time.Until(deadline)
		}
		first = false
		removed, err := g.next.Uninstall(lasting, observed, removal)
		kept = append(kept, removed.Kept...)
		removed.Kept = kept
		return removed, retryable(err)
	})
}

// attempts are the attempts of one operation.
type attempts struct {
	limit         time.Duration
	bundle, doing string
	// slot is that of the operation, if the operation can pause. Without it, the operation
	// has one of the slots.
	slot release.Slot
	// listener follows the operation, nil for none.
	listener release.Listener
}

// pause makes room for other operations until resume.
func (a attempts) pause(slots *semaphore.Weighted) {
	if a.slot == nil {
		slots.Release(1)
		return
	}
	a.slot.Pause()
}

// resume takes a slot again, even if the run has ended: the caller gives the slot back.
func (a attempts) resume(ctx context.Context, slots *semaphore.Weighted) {
	ctx = context.WithoutCancel(ctx)
	if a.slot == nil {
		_ = slots.Acquire(ctx, 1)
		return
	}
	_ = a.slot.Resume(ctx)
}

// repeat calls an operation until it succeeds, fails permanently, or its time has ended. It
// returns the error of the last attempt. Nothing is tried again after ctx has ended.
func repeat[T any](ctx context.Context, c guarded, of attempts, operation func() (T, error)) (T, error) {
	policy := retry.Operation()
	pausing, attempt := false, 1
	resume := func() {
		if pausing {
			of.resume(ctx, c.slots)
			pausing = false
		}
	}
	defer resume()
	var last error
	result, err := retry.DoNotify(ctx, policy.Within(max(of.limit, policy.First)), func() (T, error) {
		resume()
		result, err := operation()
		last = err
		return result, err
	}, func(err error, pause time.Duration) {
		attempt++
		if of.listener != nil {
			of.listener.Retries()
		}
		c.notify.send(ctx, deploy.Event{
			Kind: deploy.OperationRetried, Key: deploy.Key{Cluster: c.name, Bundle: of.bundle},
			Doing: of.doing, Attempt: attempt, Err: err, Pause: pause,
		})
		of.pause(c.slots)
		pausing = true
	})
	if err == nil || retry.IsPermanent(last) {
		return result, err
	}
	return result, last
}

// retryable lets an error with a temporary cause be tried again.
func retryable(err error) error {
	unreachable, changed := (*status.UnreachableError)(nil), (*release.ChangedError)(nil)
	if isBusy(err) || errors.As(err, &unreachable) || errors.As(err, &changed) {
		return err
	}
	return retry.Permanent(err)
}

// isBusy reports whether a cluster responded but could not handle the request.
func isBusy(err error) bool {
	_, is := errors.AsType[*status.BusyError](err)
	return is
}

// extendDeadline returns a context that ends a given time after ctx does.
func extendDeadline(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(by)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel()
		case <-lasting.Done():
		}
	})
	return lasting, func() {
		stop()
		cancel()
	}
}
