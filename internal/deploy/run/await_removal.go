package run

import (
	"context"
	"errors"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/retry"
)

// takeoverTimeout is how long a deployment waits until another target of the same owner has
// removed a release. One apply can contain both targets.
const takeoverTimeout = 2 * time.Minute

// awaitRemoval waits until another target of this owner has removed a release that the deployment
// is to have. It returns the release that exists then, nil if there is none. The other target can
// have the name of this one, when two targets exchange their names. Terraform passes nothing from
// the plan of one target to another. So this target cannot find out in advance whether the other
// one is going to remove the release.
func (w *deploymentWrite) awaitRemoval(ctx context.Context, observed *release.Observed) (*release.Observed, error) {
	isOthers := func(observed *release.Observed) bool {
		if !release.Exists(observed) {
			return false
		}
		ownership := w.run.known().ownership(*observed)
		return ownership == release.OtherTarget || ownership == release.SameName
	}
	if w.run.request.Settings.Consent.To(w.key) || !isOthers(observed) {
		return observed, nil
	}
	limit := min(takeoverTimeout, w.run.request.Settings.TimeoutOf(w.d))
	var now *release.Observed
	waits := release.Unready{Object: "release " + w.d.Namespace + "/" + w.d.Release, Reason: "another target removes it first"}
	w.listener().WaitsFor(waits, 1)
	defer w.listener().WaitsFor(release.Unready{}, 0)
	_, err := retry.Do(ctx, retry.Removal().Within(limit), func() (struct{}, error) {
		var err error
		if now, err = w.run.snapshot.cluster.Release(ctx, w.d.Namespace, w.d.Release); err != nil {
			return struct{}{}, retry.Permanent(err)
		}
		if isOthers(now) {
			return struct{}{}, errStillThere
		}
		return struct{}{}, nil
	})
	if isOthers(now) {
		return now, nil // Decide refuses it with the name of the target that has it.
	}
	return now, err
}

// errStillThere keeps awaitRemoval waiting.
var errStillThere = errors.New("another target still has the release")
