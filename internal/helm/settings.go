package helm

import (
	"slices"
	"time"

	"k8s.io/cli-runtime/pkg/resource"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// settings are how an operation treats objects. They do not change during the operation.
type settings struct {
	// release is the release that is written or removed, as release.Key. within is the only namespace in
	// which objects may be deleted, "" for any.
	release, within string
	// keep are objects, by Object.Key, that another release takes over. They are not deleted
	// although this release no longer has them.
	keep map[string]string
	// admits reports whether an object may be written that belongs to another release, as release.Key.
	admits func(info *resource.Info, owner string) bool
	// retries is true if the revision before has failed, so that its objects may not be written.
	retries bool
	// timeout limits the wait for an object that is deleted to be created again.
	timeout time.Duration
	// ignore are conditions that do not count for the readiness of objects, and readyFor is how long
	// a container without a readiness probe has to run.
	ignore   []map[string]string
	readyFor time.Duration
	// logs adds the end of the logs of failed containers to errors.
	logs bool
	// slot is given back when only waiting is left to do, and taken again when there is more work
	// after a wait, nil if the operation keeps it.
	slot release.Slot
	// listener follows what the operation waits for, nil for none.
	listener release.Listener
}

func settingsOf(d target.Deployment, observed *release.Observed, w release.Write) settings {
	s := settings{
		release: release.Key(d.Namespace, d.Release), within: d.Options.Namespace, keep: w.KeepObjects,
		retries: observed != nil && observed.Status != release.StatusDeployed, timeout: w.Timeout,
		ignore: release.RulesOf(d.Options).Ignore, readyFor: w.ReadyFor, logs: w.ExplainLogs, listener: w.Listener,
	}
	if w.Known != nil {
		s.within = w.Known.TargetNamespace
	}
	if !d.HelmOptions().Atomic { // An atomic operation may have to write all objects again.
		s.slot = w.Slot
	}
	takes := takesOwnership(d, w)
	s.admits = func(info *resource.Info, owner string) bool {
		return takes || slices.Contains(w.Former, owner) || movesTo(w, s.release, info, owner) || w.Owns != nil && w.Owns(owner)
	}
	return s
}

// takesOwnership reports whether a deployment takes objects of others over.
func takesOwnership(d target.Deployment, w release.Write) bool {
	return w.TakeOwnership || d.HelmOptions().TakeOwnership
}
