package deploy

import (
	"context"
	"errors"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/retry"
)

// takeoverTimeout is how long a release is waited for that another target of the same
// owner has to remove first: both can be part of one apply.
const takeoverTimeout = 2 * time.Minute

// awaitRemoval waits until another target of this owner has removed a release that
// the deployment is to have, and returns what is there then. The other one can have this target's name, when
// two targets exchange theirs. Terraform hands nothing from the plan of one
// target to another, so it cannot be known that the other one is going to.
func (w *deploymentWrite) awaitRemoval(ctx context.Context, observed *release.Observed) (*release.Observed, error) {
	isOthers := func(observed *release.Observed) bool {
		if !release.Exists(observed) {
			return false
		}
		ownership := w.run.known().ownership(*observed)
		return ownership == release.OtherTarget || ownership == release.SameName
	}
	if w.run.request.Settings.TakeOwnership || !isOthers(observed) {
		return observed, nil
	}
	limit := min(takeoverTimeout, w.run.request.Settings.timeout(w.d))
	var now *release.Observed
	w.listener().WaitsFor(release.Unready{Object: "release " + w.d.Namespace + "/" + w.d.Release, Reason: "another target removes it first"}, 1)
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
		return now, nil // It is refused with the name of the target that has it.
	}
	return now, err
}

// errStillThere keeps awaitRemoval waiting.
var errStillThere = errors.New("another target still has the release")
