package testenv

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// A process is one running program of an environment. Its output goes to a file beside its data.
type process struct {
	name    string
	logFile string
	command *exec.Cmd
	// exited is closed when it has ended; after that, err says how.
	exited chan struct{}
	err    error
}

// A launcher starts programs of one environment.
type launcher struct {
	programs string // folder
	home     string // folder the programs may regard as theirs
	group    int    // process group
	// variables are the environment of the programs beside HOME, TMPDIR and PATH.
	variables []string
}

// start runs until stop; ctx only hands on values. The program sees none of the variables of this
// process, because etcd and others take settings from theirs.
func (l launcher) start(ctx context.Context, program, logFile string, args ...string) (*process, error) {
	output, err := os.Create(filepath.Clean(logFile))
	if err != nil {
		return nil, fmt.Errorf("creating the log of %s: %w", program, err)
	}
	defer func() { _ = output.Close() }() // The child has its own descriptor.
	command := exec.CommandContext(context.WithoutCancel(ctx), filepath.Join(l.programs, program), args...)
	command.Dir = l.home
	// A sixth of the CPU time of an API server would be its collector's.
	command.Env = append([]string{"HOME=" + l.home, "TMPDIR=" + l.home, "PATH=" + os.Getenv("PATH"), "GOGC=200"}, l.variables...)
	command.Stdout = output
	command.Stderr = output
	command.SysProcAttr = joinGroup(l.group)
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", program, err)
	}
	p := &process{name: program, logFile: logFile, command: command, exited: make(chan struct{})}
	go func() {
		p.err = command.Wait()
		close(p.exited)
	}()
	return p, nil
}

// stop kills: what the programs would save on a graceful end is in etcd already, and the test waits.
func (p *process) stop(ctx context.Context) error {
	_ = p.command.Process.Kill() // It fails only if the process has ended.
	select {
	case <-p.exited:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for %s to end: %w", p.name, ctx.Err())
	}
}

// failure is nil while the process runs, and else says how it ended and what it said last.
func (p *process) failure() error {
	select {
	case <-p.exited:
	default:
		return nil
	}
	said, err := os.ReadFile(p.logFile)
	if err != nil {
		said = []byte("(no log: " + err.Error() + ")")
	}
	return fmt.Errorf("%s ended (%w); its last words:\n%s", p.name, errOrExit(p.err), lastLines(string(said), 15))
}

type exitedError struct{}

func (exitedError) Error() string { return "exit status 0" }

func errOrExit(err error) error {
	if err == nil {
		return exitedError{}
	}
	return err
}
