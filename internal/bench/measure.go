package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// atOnce is how many commands of a step run at the same time.
	atOnce = 10
	// commandTimeout is how long a command may take before it counts as hung.
	commandTimeout = 30 * time.Minute
)

// A usage is what the commands of a step took.
type usage struct {
	Seconds float64 `json:"seconds"`
	// CPU are the seconds of all processes.
	CPU float64 `json:"cpu_seconds"`
	// Peak is the largest sum of resident memory of all processes that a look found, in bytes.
	Peak int64 `json:"peak_bytes"`
	// Provider is what processes of Terraform providers had of it.
	Provider provider `json:"provider"`
}

// A provider is what looks at the processes of a Terraform provider found.
type provider struct {
	// CPU is the processes' at the last look, so a little less than it was.
	CPU float64 `json:"cpu_seconds,omitempty"`
	// Peak is the largest high-water mark of resident memory that one of them had, in bytes.
	Peak int64 `json:"peak_bytes,omitempty"`
	// Processes is the most that were there at once.
	Processes int `json:"processes,omitempty"`
}

// measure runs the commands, some at once, and says what they took. With one that fails, all do.
func measure(ctx context.Context, commands []command) (usage, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	look := startUsageSampler(ctx)
	var mu sync.Mutex
	var cpu time.Duration
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	began := time.Now()
	for _, c := range commands {
		group.Go(func() error {
			took, err := c.run(groupCtx, look)
			mu.Lock()
			defer mu.Unlock()
			cpu += took
			return err
		})
	}
	err := group.Wait()
	took := time.Since(began)
	found := look.stop()
	found.Seconds, found.CPU = took.Seconds(), cpu.Seconds()
	return found, err
}

// run runs one command and answers the CPU time of it and of all that it started and waited for.
func (c command) run(ctx context.Context, look *usageSampler) (time.Duration, error) {
	process := exec.CommandContext(ctx, c.args[0], c.args[1:]...)
	process.Dir, process.Env = c.dir, c.env
	var output bytes.Buffer
	process.Stdout, process.Stderr = &output, &output
	if err := process.Start(); err != nil {
		return 0, fmt.Errorf("starting %s: %w", c.args[0], err)
	}
	look.at(process.Process.Pid)
	err := process.Wait()
	look.away(process.Process.Pid)
	if err != nil {
		return 0, fmt.Errorf("%s %s: %w\n%s", filepath.Base(c.args[0]), strings.Join(c.args[1:], " "), err, lastLines(output.String()))
	}
	return process.ProcessState.UserTime() + process.ProcessState.SystemTime(), nil
}

// lastLines are as much of an output as somebody reads.
func lastLines(text string) string {
	const enough = 60
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-enough):], "\n")
}
