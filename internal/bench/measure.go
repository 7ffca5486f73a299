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

// A usage is the time and the memory of the commands of a step.
type usage struct {
	Seconds float64 `json:"seconds"`
	// CPU are the seconds of all processes.
	CPU float64 `json:"cpu_seconds"`
	// Peak is the largest sum of resident memory of all processes in one sample, in bytes.
	Peak int64 `json:"peak_bytes"`
	// Terraform are the CPU seconds of Terraform's own processes at the last sample.
	Terraform float64 `json:"terraform_cpu_seconds,omitempty"`
	// Provider is the share of the processes of Terraform providers.
	Provider provider `json:"provider"`
}

// A provider is the usage of the processes of a Terraform provider, from samples.
type provider struct {
	// CPU is the CPU time of the processes at the last sample, so a little too low.
	CPU float64 `json:"cpu_seconds,omitempty"`
	// Peak is the largest high-water mark of resident memory of one process, in bytes.
	Peak int64 `json:"peak_bytes,omitempty"`
	// Processes is the largest number of processes at the same time.
	Processes int `json:"processes,omitempty"`
}

// measure runs the commands, some at once, and returns their usage. If one command fails, measure
// fails.
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

// run runs one command. It returns the CPU time of the command and of all processes that the
// command started and waited for.
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

// lastLines returns the last lines of an output, enough to find an error.
func lastLines(text string) string {
	const enough = 60
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-enough):], "\n")
}
