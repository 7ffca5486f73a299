package status

import (
	"cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// Observation is what is known of one deployment when its state is determined. The zero
// value is a deployment of which nothing is on the cluster.
type Observation struct {
	// Release is the newest release record, nil if the cluster has none.
	Release *release.Observed
	// Ownership says whose the release is, seen from the one who asks.
	Ownership release.Ownership
	// Maker is who made the newest revision, if another tool did and is known.
	Maker release.Maker
	// RecordChanged reports that the manifest or the hooks of the record are not those that
	// state knows.
	RecordChanged bool
	// Failed reports that the last operation failed, as state knows it. The record can lack
	// that, as after a rollback.
	Failed bool
	// Wanted is the digest of the wanted deployment, "" where nobody compares it.
	Wanted string
	// Objects are what was found of the objects, nil if nobody looked at them.
	Objects *release.Finding
	// NotReady is the message of an earlier look that found objects not ready, "" if none
	// did. It holds while kinds are refused: an object that was not ready can be of one.
	NotReady string
}

// DetermineState returns the state of a deployment and why, "" for Ready. It is the only
// place that derives a state from what was observed. The first condition that holds
// decides:
//
//  1. Nothing is there: Pending.
//  2. Somebody else made the newest revision or changed its record: Modified, however that
//     revision ended. Fleet goes by the revision that it has written itself (its
//     internal/helmdeployer/history.go), so a failure of somebody else's is none of the
//     deployment's. An apply does not repair it either; it needs take_ownership.
//  3. The last operation failed: ErrApplied; it was cut short: WaitApplied.
//  4. Objects are not ready: NotReady.
//  5. Another digest is deployed than is wanted: OutOfSync.
//  6. Objects are not as they were deployed: Modified.
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

// ofObjects is the state of a deployment whose last operation came to its end.
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

// OnlyReadiness takes what is no matter of readiness out of a finding. An object that is
// missing is not ready; an object that differs counts as ready.
func OnlyReadiness(f release.Finding) release.Finding {
	only := release.Finding{Ready: f.Ready + len(f.Modified) + len(f.NotOwned), NotReady: f.NotReady, Refused: f.Refused}
	for _, object := range f.Missing {
		only.NotReady = append(only.NotReady, release.Unready{Object: object, Reason: "missing"})
	}
	return only
}
