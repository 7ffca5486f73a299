package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// clusterCount is the number of clusters for the contenders.
const clusterCount = 3

// A step is one step of a contest, in this order. All steps but restore are timed.
type step string

const (
	install step = "install"
	change  step = "change"
	nothing step = "nothing"
	remove  step = "remove"
	// restore creates again what was removed.
	restore step = "restore"
	destroy step = "destroy"
)

func steps() []step { return []step{install, change, nothing, remove, restore, destroy} }

func timedSteps() []step { return []step{install, change, nothing, remove, destroy} }

// value returns the value of the work after a step.
func (s step) value() string {
	if s == install {
		return "one"
	}
	return "two"
}

// targets returns the clusters that have the work after a step.
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

// A task is a work for one contender, in a folder and a namespace of its own.
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

// A contender deploys work to clusters.
type contender interface {
	name() string
	// commands writes what the step needs, which is not timed, and returns the commands to run. It
	// returns no command for a step that the contender does not support.
	commands(ctx context.Context, t task, s step) ([]command, error)
	// waits reports whether the step ends only when what was written is also running.
	waits(t task) bool
}

// environment returns this process's environment without variables that would change a command's
// behaviour. The home is empty at first.
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
