package testenv

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// fleetProcesses are the controllers and agents of a Fleet.
type fleetProcesses struct {
	dir   string // of programs, logs and kubeconfigs
	group int    // the process group of the environment

	mu      sync.Mutex
	running map[string]*process // by the name of their log
}

func newFleetProcesses(env *Env) *fleetProcesses {
	return &fleetProcesses{dir: filepath.Join(env.local.dir, "fleet"), group: env.local.reaper.group, running: map[string]*process{}}
}

// link gives the programs a path inside the environment. Their arguments contain no such path, and
// sweep finds processes by it.
func (p *fleetProcesses) link(programs string) error {
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return fmt.Errorf("creating the folder of Fleet: %w", err)
	}
	for _, name := range fleetPrograms() {
		if err := os.Symlink(filepath.Join(programs, name), p.file(name)); err != nil {
			return fmt.Errorf("linking a program of Fleet: %w", err)
		}
	}
	return nil
}

func (p *fleetProcesses) file(name string) string { return filepath.Join(p.dir, name) }

func (p *fleetProcesses) runs(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	running, ok := p.running[name]
	return ok && running.failure() == nil
}

func (p *fleetProcesses) launch(ctx context.Context, name, program, kubeconfig string, variables []string, args ...string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.running[name]; ok {
		return nil
	}
	home := p.file(name)
	if err := os.MkdirAll(home, 0o700); err != nil {
		return fmt.Errorf("creating the folder of Fleet's %s: %w", name, err)
	}
	fleet := launcher{
		programs:  p.dir,
		home:      home,
		group:     p.group,
		variables: append([]string{"KUBECONFIG=" + kubeconfig, "NAMESPACE=" + fleetSystem}, append(electionVariables(), variables...)...),
	}
	started, err := fleet.start(ctx, program, home+".log", args...)
	if err != nil {
		return err
	}
	p.running[name] = started
	return nil
}

func (p *fleetProcesses) end(ctx context.Context, name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	running, ok := p.running[name]
	if !ok {
		return nil
	}
	if err := running.stop(ctx); err != nil {
		return err
	}
	delete(p.running, name)
	return nil
}

// endAll waits for all processes. They belong to the process group of the environment, which was killed.
func (p *fleetProcesses) endAll(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, running := range p.running {
		if err := running.stop(ctx); err != nil {
			return err
		}
	}
	return nil
}

// maxStarts is how often a process is started that ends before it is ready.
const maxStarts = 5

// startUntilReady starts a process, and starts it again if it ends before it is ready, also with
// status 0. The error has the last words of every start.
func (p *fleetProcesses) startUntilReady(ctx context.Context, name string, start, ready func(context.Context) error) error {
	var failures []error
	for range maxStarts {
		if err := start(ctx); err != nil {
			return errors.Join(append(failures, err)...)
		}
		err := ready(ctx)
		if err == nil {
			return nil
		}
		failures = append(failures, err)
		isRunning := p.failureOf(name) == nil
		if err := p.end(context.WithoutCancel(ctx), name); err != nil || isRunning { // Another start would not help.
			return errors.Join(append(failures, err)...)
		}
	}
	return errors.Join(failures...)
}

// failureOf returns nil while a process runs, and after it was stopped.
func (p *fleetProcesses) failureOf(name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	running, ok := p.running[name]
	if !ok {
		return nil
	}
	return running.failure()
}

// failure returns nil while every controller runs that was not stopped. An agent may end before it
// has checked in: startUntilReady starts it again.
func (p *fleetProcesses) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var failures []error
	for _, name := range slices.Sorted(maps.Keys(p.running)) {
		if !strings.HasPrefix(name, agentPrefix) {
			failures = append(failures, p.running[name].failure())
		}
	}
	return errors.Join(failures...)
}
