package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// clusterCount is on how many clusters the contenders work.
const clusterCount = 3

// A step is one of the things that are done, in this order. All but one are timed.
type step string

const (
	install step = "install"
	change  step = "change"
	nothing step = "nothing"
	remove  step = "remove"
	// restore brings back what was removed.
	restore step = "restore"
	destroy step = "destroy"
)

func steps() []step { return []step{install, change, nothing, remove, restore, destroy} }

func timedSteps() []step { return []step{install, change, nothing, remove, destroy} }

// value is what the work holds after a step.
func (s step) value() string {
	if s == install {
		return "one"
	}
	return "two"
}

// targets are the clusters that have the work after a step, of those there are.
func (s step) targets(contexts []string) []string {
	switch s {
	case remove:
		return contexts[:len(contexts)-1]
	case destroy:
		return nil
	case install, change, nothing, restore:
	}
	return contexts
}

// A task is a work to be brought to clusters by one contender, in a folder and a namespace of its own.
type task struct {
	work       work
	wait       bool
	dir        string
	namespace  string
	kubeconfig string
	contexts   []string
}

func (t task) charts() string { return filepath.Join(t.dir, "charts") }

// A command is a program that runs as part of a step.
type command struct {
	args []string
	dir  string
	env  []string
}

// A contender brings work to clusters.
type contender interface {
	name() string
	// commands writes what the step needs, which is not timed, and answers what there is to run. It
	// answers nothing for a step that the contender does not know.
	commands(ctx context.Context, t task, s step) ([]command, error)
	// waits says whether the step ends when what was written is also running.
	waits(t task) bool
}

// environment is this process's without what would make a command behave in a way of its own, and
// with a home that is empty at first.
func environment(home string, more ...string) []string {
	var kept []string
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if name == "HOME" || name == "KUBECONFIG" || strings.HasPrefix(name, "HELM_") || strings.HasPrefix(name, "TF_") ||
			strings.HasPrefix(name, "XDG_") || strings.HasPrefix(name, "KUBE_") {
			continue
		}
		kept = append(kept, entry)
	}
	return append(append(kept, "HOME="+home, "CHECKPOINT_DISABLE=1"), more...)
}

// makeHome makes the home of a task's commands.
func (t task) makeHome() (string, error) {
	home := filepath.Join(t.dir, "home")
	if err := os.MkdirAll(home, 0o750); err != nil {
		return "", fmt.Errorf("making a home: %w", err)
	}
	return home, nil
}
