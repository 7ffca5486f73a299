package status

import (
	"cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// Observation is what is known of one deployment when its state is determined. The zero value
// is a deployment that does not exist on the cluster.
type Observation struct {
	// Release is the newest release record, nil if the cluster has none.
	Release *release.Observed
	// Ownership is the relation of the release to the target that determines the state.
	Ownership release.Ownership
	// Maker is the tool that created the newest revision, if another tool did and is known.
	Maker release.Maker
	// RecordChanged reports that the manifest or the hooks of the record differ from those
	// that the state recorded.
	RecordChanged bool
	// Failed reports that the last operation failed according to the state. The record can
	// lack the failure, as after a rollback.
	Failed bool
	// Wanted is the digest of the wanted deployment, "" to skip the comparison.
	Wanted string
	// Objects is the finding about the objects, nil if they were not inspected.
	Objects *release.Finding
	// NotReady is the message of an earlier inspection that found objects not ready, "" if
	// none did. It is still used while kinds are refused: the object that was not ready can be
	// of such a kind.
	NotReady string
}

// DetermineState returns the state of a deployment and the reason, "" for Ready. It is the
// only function that derives a state from an observation. The first condition that is true
// decides:
//
//  1. There is no release: Pending.
//  2. Another tool or target created the newest revision, or the record was changed:
//     Modified, even if that revision failed. Fleet uses the revision that it has written
//     itself (its internal/helmdeployer/history.go), so a failure of another tool does not
//     count for the deployment. An apply does not repair such a failure either; it needs
//     take_ownership.
//  3. The last operation failed: ErrApplied. It was interrupted: WaitApplied.
//  4. Objects are not ready: NotReady.
//  5. The deployed digest is not the wanted one: OutOfSync.
//  6. Objects differ from those that were deployed: Modified.
//
// 3 to 6 are in Fleet's order (its internal/cmd/controller/summary/summary.go,
// GetDeploymentState).
func DetermineState(o Observation) (State, string) {
	switch {
	case !release.Exists(o.Release):
		return Pending, "it is not deployed"
	case o.Ownership == release.OtherTool:
		return Modified, Message("the newest revision was created by " + cmp.Or(o.Maker.Name, "another tool"))
	case o.Ownership != release.Self:
		return Modified, "the release has another owner"
	case o.RecordChanged:
		return Modified, "the release record was changed, so its hooks will not run"
	case o.Failed || o.Release.Status == release.StatusFailed:
		if o.IsAsWanted() {
			return ErrApplied, "the last operation failed, but its objects are as wanted and ready"
		}
		return ErrApplied, "the last operation failed"
	case o.Release.Status != release.StatusDeployed:
		return WaitApplied, Message("the last operation was interrupted: " + string(o.Release.Status))
	}
	state, message := o.ofObjects()
	if o.Wanted != "" && o.Release.Mark.Digest != o.Wanted && state != NotReady {
		return OutOfSync, "the deployed version is not the wanted one"
	}
	return state, message
}

// IsAsWanted reports whether the objects were read, and all are as in the release and ready.
func (o Observation) IsAsWanted() bool { return o.Objects != nil && o.Objects.IsAsWanted() }

// ofObjects returns the state of a deployment whose last operation was completed.
func (o Observation) ofObjects() (State, string) {
	if o.Objects == nil {
		return Ready, ""
	}
	state, message := Judge(*o.Objects)
	if state == Ready && len(o.Objects.Refused) > 0 && o.NotReady != "" {
		return NotReady, o.NotReady
	}
	return state, message
}

// OnlyReadiness reduces a finding to the readiness of objects. A missing object is not ready.
// An object that differs counts as ready.
func OnlyReadiness(f release.Finding) release.Finding {
	only := release.Finding{Ready: f.Ready + len(f.Modified) + len(f.NotOwned), NotReady: f.NotReady, Refused: f.Refused, HidesNames: f.HidesNames}
	for _, object := range f.Missing {
		only.NotReady = append(only.NotReady, release.Unready{Object: object, Reason: "missing"})
	}
	return only
}
