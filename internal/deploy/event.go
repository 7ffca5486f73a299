package deploy

import (
	"context"
	"errors"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// EventKind is what an event reports.
type EventKind int

// The kinds of events. Each deployment has exactly one of the events DeploymentFinished,
// DeploymentFailed and DeploymentNotStarted, and no event after it.
const (
	// ApplyStarted has the number of deployments to write and to remove, and the counts of the plan
	// as Text.
	ApplyStarted EventKind = iota
	// StageStarted is sent for the first deployment of a stage, if there is more than one stage.
	StageStarted
	// DeploymentStarted is sent when the operation on a release starts.
	DeploymentStarted
	// DeploymentWaits is sent after ten seconds of waiting, and later if the deployment waits for
	// something else.
	DeploymentWaits
	// OperationRetried has the attempt that follows. It can concern a whole cluster.
	OperationRetried
	// DeploymentFinished is a success.
	DeploymentFinished
	// DeploymentFailed follows DeploymentStarted.
	DeploymentFailed
	// DeploymentNotStarted reports a deployment on which no operation was started.
	DeploymentNotStarted
	// ApplyFinished has the numbers of finished deployments and of those with an error.
	ApplyFinished
)

// Event is one step of an apply, for the people who follow the apply. It has names and errors, and
// no values of a deployment.
type Event struct {
	Kind EventKind
	// Target is the name of the target, "" if the event is not about an apply.
	Target string
	// Key is the deployment. Bundle is "" for an operation on the whole cluster.
	Key
	// Doing is what is done, such as "upgrading".
	Doing string
	// Attempt counts from 1.
	Attempt int
	// Elapsed is the time since the start of the deployment or of the apply.
	Elapsed time.Duration
	// Err is why an operation failed, and Pause the time until the next attempt.
	Err   error
	Pause time.Duration
	// Waits is the first object that a deployment waits for, and Objects the number of such
	// objects.
	Waits   release.Unready
	Objects int
	// Stage is a number from 1 to Stages, and Text the deployments of that stage. At the start of an
	// apply, Text is the counts.
	Stage, Stages int
	Text          string
	// Total, Finished and Failed are numbers of deployments.
	Total, Finished, Failed int
}

// Notify receives events. Several goroutines call it at once, so it returns at once.
type Notify func(ctx context.Context, event Event)

// Masked returns the event with each text as mask returns it.
func (e Event) Masked(mask func(string) string) Event {
	e.Target = mask(e.Target)
	e.Cluster = mask(e.Cluster)
	e.Bundle = mask(e.Bundle)
	e.Text = mask(e.Text)
	e.Waits = release.Unready{Object: mask(e.Waits.Object), Reason: mask(e.Waits.Reason)}
	if e.Err != nil {
		e.Err = errors.New(mask(e.Err.Error()))
	}
	return e
}
