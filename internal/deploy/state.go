package deploy

import (
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// observation is what is known of a deployment when its release was seen, beside what
// state knows of the last operation and of its objects.
func (r Record) observation(observed release.Observed, ownership release.Ownership) status.Observation {
	o := status.Observation{Release: &observed, Ownership: ownership, Failed: r.State == status.ErrApplied}
	if r.State == status.NotReady {
		o.NotReady = r.Message
	}
	return o
}

// after is the record after an observation. Where nobody has looked at the objects, they
// count as they were before, and NotReady without a message asks for a look.
func (r Record) after(o status.Observation) Record {
	before := r.State
	r.Digest = o.Release.Mark.Digest
	if o.Ownership != release.Self || o.RecordChanged {
		r.Digest = "" // What is deployed is not this target's.
	}
	state, message := status.DetermineState(o)
	switch {
	case o.Objects != nil:
		r.Counts = status.CountsOf(*o.Objects)
	case state == status.Modified:
		r.Counts = r.Counts.Unseen()
	case state == status.Ready && (before == status.Modified || before == status.WaitApplied):
		r.State, r.Message = status.NotReady, "" // That is over; whether it is ready has to be seen.
		return r
	case state == status.Ready:
		return r
	}
	if state == status.ErrApplied && before == status.ErrApplied {
		return r // Its message has the cause.
	}
	r.State, r.Message = state, message
	return r
}
