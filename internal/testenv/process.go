package testenv

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// A process is one running program of an environment. Its output is written to logFile.
type process struct {
	name    string
	logFile string
	command *exec.Cmd
	// exited is closed when the process has ended; err is then the result.
	exited chan struct{}
	err    error
}

// A launcher starts programs of one environment.
type launcher struct {
	programs string // folder
	home     string // folder that the programs may use as their home
	group    int    // process group
	// variables are the environment of the programs in addition to HOME, TMPDIR, PATH and GOGC.
	variables []string
}

// start starts a program, which runs until stop is called, even if ctx ends. The program inherits
// no variable of this process except PATH, because etcd and others read settings from variables.
func (l launcher) start(ctx context.Context, program, logFile string, args ...string) (*process, error) {
	output, err := os.Create(filepath.Clean(logFile))
	if err != nil {
		return nil, fmt.Errorf("creating the log of %s: %w", program, err)
	}
	defer func() { _ = output.Close() }() // The child has its own descriptor.
	command := exec.CommandContext(context.WithoutCancel(ctx), filepath.Join(l.programs, program), args...)
	command.Dir = l.home
	// With the default GOGC, garbage collection would take a sixth of the CPU time of an API
	// server.
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

// stop kills the process. A graceful end would save nothing that is not in etcd already, and would
// take longer.
func (p *process) stop(ctx context.Context) error {
	_ = p.command.Process.Kill() // Kill fails only if the process has ended.
	select {
	case <-p.exited:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for %s to end: %w", p.name, ctx.Err())
	}
}

// failure returns nil while the process runs. After that it returns how the process ended, with the
// last lines of its log.
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
