package run

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/rollout"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// waitNotice is how long an operation waits before an event reports it, and the least time
// between two such events.
const waitNotice = 10 * time.Second

// applyProgress sends the events of one apply.
type applyProgress struct {
	emit    func(deploy.Event)
	results *results
	began   time.Time
	// counts are those of the plan.
	counts status.Changes

	mu          sync.Mutex
	deployments map[deploy.Key]*deploymentProgress
	stages      []rollout.Stage
	stageOf     map[deploy.Key]int
	started     []bool // by stage
}

func newApplyProgress(ctx context.Context, notify notifiers, request Request, results *results) *applyProgress {
	p := &applyProgress{
		results: results, began: time.Now(), counts: request.Counts,
		deployments: map[deploy.Key]*deploymentProgress{},
		stages:      request.Order, stageOf: map[deploy.Key]int{}, started: make([]bool, len(request.Order)),
		emit: func(event deploy.Event) {
			event.Target = request.Target
			notify.send(ctx, event)
		},
	}
	for _, d := range request.Write {
		p.deployments[deploy.KeyOf(d)] = &deploymentProgress{of: p, key: deploy.KeyOf(d), doing: "deploying"}
	}
	for _, key := range request.Remove {
		p.deployments[key] = &deploymentProgress{of: p, key: key, doing: release.Uninstall.Doing(), isRemoval: true}
	}
	if len(request.Order) > 1 { // One stage alone is not reported.
		for number, stage := range request.Order {
			for _, d := range stage.Deployments {
				p.stageOf[deploy.KeyOf(d)] = number
			}
		}
	}
	return p
}

// start reports the apply, unless it has no deployments.
func (p *applyProgress) start() {
	if len(p.deployments) > 0 {
		p.emit(deploy.Event{Kind: deploy.ApplyStarted, Total: len(p.deployments), Text: p.counts.String()})
	}
}

// startStage reports the stage of a deployment, once.
func (p *applyProgress) startStage(key deploy.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	number, ok := p.stageOf[key]
	if !ok || p.started[number] {
		return
	}
	p.started[number] = true
	p.emit(deploy.Event{Kind: deploy.StageStarted, Stage: number + 1, Stages: len(p.stages), Text: p.stages[number].Text})
}

// end reports the result of a deployment, once.
func (p *applyProgress) end(key deploy.Key) {
	if deployment := p.deployments[key]; deployment != nil {
		deployment.end(p.results.failure(key))
	}
}

// finish reports the end of the apply. Before that it reports deployments without a result, such
// as after a panic.
func (p *applyProgress) finish() {
	if len(p.deployments) == 0 {
		return
	}
	finished := 0
	for _, key := range p.keys() {
		p.end(key)
		if p.results.failure(key) == nil {
			finished++
		}
	}
	total := len(p.deployments)
	p.emit(deploy.Event{
		Kind: deploy.ApplyFinished, Total: total, Finished: finished, Failed: total - finished, Elapsed: time.Since(p.began),
	})
}

func (p *applyProgress) keys() []deploy.Key {
	return slices.SortedFunc(maps.Keys(p.deployments), deploy.Key.Compare)
}

// deploymentProgress sends the events of one deployment.
type deploymentProgress struct {
	of        *applyProgress
	key       deploy.Key
	isRemoval bool

	mu      sync.Mutex
	doing   string
	began   time.Time // zero before an operation is started
	attempt int
	ended   bool
	// waits is the first object that the operation waits for now, and objects the number of such
	// objects. noticed is the object in the last event.
	waits, noticed release.Unready
	objects        int
	// timer runs during a wait.
	timer *time.Timer
}

var _ release.Listener = (*deploymentProgress)(nil)

// start reports that an operation on the release starts.
func (d *deploymentProgress) start(action release.Action) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.doing = action.Doing()
	d.began = time.Now()
	d.attempt = 1
	d.send(deploy.Event{Kind: deploy.DeploymentStarted})
}

// isStarted reports whether an operation was started.
func (d *deploymentProgress) isStarted() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.began.IsZero()
}

// Retries implements release.Listener.
func (d *deploymentProgress) Retries() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.attempt++
}

// WaitsFor implements release.Listener.
func (d *deploymentProgress) WaitsFor(first release.Unready, objects int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waits, d.objects = first, objects
	if objects == 0 {
		d.stopWaiting()
		return
	}
	if d.timer == nil && !d.ended {
		d.timer = time.AfterFunc(waitNotice, panics.RecoveringTo(func(error) {}, "reporting a wait", d.notice))
	}
}

func (d *deploymentProgress) stopWaiting() {
	if d.timer != nil {
		d.timer.Stop()
	}
	d.timer, d.noticed = nil, release.Unready{}
}

// notice reports the object that the operation waits for, unless the last event reported it.
func (d *deploymentProgress) notice() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer == nil {
		return
	}
	if d.waits != d.noticed {
		d.noticed = d.waits
		d.send(deploy.Event{Kind: deploy.DeploymentWaits, Waits: d.waits, Objects: d.objects})
	}
	d.timer.Reset(waitNotice)
}

// end reports the result.
func (d *deploymentProgress) end(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended {
		return
	}
	d.ended = true
	d.stopWaiting()
	event := deploy.Event{Kind: deploy.DeploymentFinished, Err: err}
	switch {
	case err != nil && d.began.IsZero():
		event.Kind = deploy.DeploymentNotStarted
	case err != nil:
		event.Kind = deploy.DeploymentFailed
	}
	d.send(event)
}

func (d *deploymentProgress) send(event deploy.Event) {
	event.Key = d.key
	event.Doing = d.doing
	event.Attempt = d.attempt
	if !d.began.IsZero() {
		event.Elapsed = time.Since(d.began)
	}
	d.of.emit(event)
}

// interruption sorts the deployments of an apply.
func (p *applyProgress) interruption() *deploy.Interruption {
	found := &deploy.Interruption{}
	for _, key := range p.keys() {
		failure := p.results.failure(key)
		list := &found.Unfinished
		switch {
		case failure == nil && p.deployments[key].isRemoval:
			list = &found.Removed
		case failure == nil:
			list = &found.Finished
		case !p.deployments[key].isStarted():
			list = &found.NotStarted
		case p.results.isAsBefore(key):
			list = &found.TakenBack
		}
		*list = append(*list, key)
	}
	return found
}
