package deploy

import (
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// Observation returns what was observed of a deployment when its release was read. It adds what
// state has recorded of the last operation and of the objects.
func (r Record) Observation(observed release.Observed, ownership release.Ownership) status.Observation {
	o := status.Observation{Release: &observed, Ownership: ownership, Failed: r.State == status.ErrApplied}
	if r.State == status.NotReady {
		o.NotReady = r.Message
	}
	return o
}

// With returns the record with the state that facts give.
func (r Record) With(facts status.Facts) Record {
	state, message := facts.State()
	r.State, r.Message = state, status.Message(mask.Printable(message))
	return r
}

// After returns the record after an observation. If the objects were not read, their counts stay
// as before. NotReady without a message means that the objects have to be read.
func (r Record) After(o status.Observation) Record {
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
		r.State, r.Message = status.NotReady, "" // The former state ended; the objects have to be read to find out whether they are ready.
		return r
	case state == status.Ready:
		return r
	}
	if state == status.ErrApplied && before == status.ErrApplied && !o.IsAsWanted() {
		return r // The former message has the cause.
	}
	r.State, r.Message = state, message
	return r
}
