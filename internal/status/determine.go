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
	// Creator is the tool that created the newest revision, if another tool did and is known.
	Creator release.Creator
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

// Facts are the reasons for the state of a deployment, however it is delivered. A reason is "" if it
// does not apply. The zero value is a deployment that is Ready.
type Facts struct {
	// Absent is why there is no deployment: Pending.
	Absent string
	// Foreign is which other tool or target changed the release or its record: Modified, even if the last
	// operation failed. Fleet uses the revision that it has written itself (its
	// internal/helmdeployer/history.go), so a failure of another tool does not count for the deployment.
	// An apply does not repair such a failure either; it needs take_ownership.
	Foreign string
	// Failed is why the last operation failed: ErrApplied.
	Failed string
	// Unfinished is what the last operation waits for, or how it ended early: WaitApplied.
	Unfinished string
	// NotReady is which objects are not ready: NotReady.
	NotReady string
	// Outdated is why the deployed version is not the wanted one: OutOfSync.
	Outdated string
	// Drift is which objects differ from those that were deployed: Modified.
	Drift string
}

// State returns the state of a deployment and the reason, "" for Ready. It is the only function that
// decides a state. The first reason that applies decides. From Failed on they are in Fleet's order
// (its internal/cmd/controller/summary/summary.go, GetDeploymentState).
func (f Facts) State() (State, string) {
	for _, fact := range []struct {
		state State
		why   string
	}{
		{Pending, f.Absent},
		{Modified, f.Foreign},
		{ErrApplied, f.Failed},
		{WaitApplied, f.Unfinished},
		{NotReady, f.NotReady},
		{OutOfSync, f.Outdated},
		{Modified, f.Drift},
	} {
		if fact.why != "" {
			return fact.state, fact.why
		}
	}
	return Ready, ""
}

// DetermineState returns the state of a deployment whose release was read, and the reason.
func DetermineState(o Observation) (State, string) { return o.facts().State() }

func (o Observation) facts() Facts {
	if !release.Exists(o.Release) {
		return Facts{Absent: "it is not deployed"}
	}
	var f Facts
	if o.Objects != nil {
		f = FactsOf(*o.Objects)
		if f == (Facts{}) && len(o.Objects.Refused) > 0 {
			f.NotReady = o.NotReady
		}
	}
	f.Foreign, f.Failed = o.foreign(), o.failure()
	if o.Release.Status != release.StatusDeployed {
		f.Unfinished = Message("the last operation was interrupted: " + string(o.Release.Status))
	}
	if o.Wanted != "" && o.Release.Mark.Digest != o.Wanted {
		f.Outdated = "the deployed version is not the wanted one"
	}
	return f
}

// foreign returns who else changed the release, "" if the target did.
func (o Observation) foreign() string {
	switch {
	case o.Ownership == release.OtherTool:
		return Message("the newest revision was created by " + cmp.Or(o.Creator.Name, "another tool"))
	case o.Ownership != release.Self:
		return "the release has another owner"
	case o.RecordChanged:
		return "the release record was changed, so its hooks will not run"
	}
	return ""
}

// failure returns why the last operation failed, "" if it did not fail.
func (o Observation) failure() string {
	switch {
	case !o.Failed && o.Release.Status != release.StatusFailed:
		return ""
	case o.IsAsWanted():
		return "the last operation failed, but its objects are as wanted and ready"
	}
	return "the last operation failed"
}

// IsAsWanted reports whether the objects were read, and all are as in the release and ready.
func (o Observation) IsAsWanted() bool { return o.Objects != nil && o.Objects.IsAsWanted() }

// OnlyReadiness reduces a finding to the readiness of objects. A missing object is not ready.
// An object that differs counts as ready.
func OnlyReadiness(f release.Finding) release.Finding {
	only := release.Finding{
		Ready: f.Ready + len(f.Modified) + len(f.NotOwned), NotReady: f.NotReady, Refused: f.Refused, HidesNames: f.HidesNames,
	}
	for _, object := range f.Missing {
		only.NotReady = append(only.NotReady, release.Unready{Object: object, Reason: "missing"})
	}
	return only
}
