package worker

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
)

const (
	// startTimeout is how long a process may take until its limits are set. It is long, because a
	// machine may be overloaded.
	startTimeout = 30 * time.Second
	// drainTime is how long the output of an ended process is read, because another process may
	// keep its pipe open.
	drainTime = time.Second
)

// process is the parent's side of a worker.
type process struct {
	cmd     *exec.Cmd
	group   group
	stdin   *os.File
	stdout  io.ReadCloser
	stderr  *crashReport
	memory  int64
	timeout time.Duration
	// calls is the number of calls so far. It is also the number of the current call.
	calls uint32

	// frames are the frames that the worker sent. The channel is closed after the last frame;
	// problem is then the reason.
	frames  chan frame
	problem error

	// drained is closed when no more frames are read.
	drained chan struct{}

	groupOnce sync.Once
	killOnce  sync.Once
	killed    chan struct{}
	// exited is closed when the process has exited and its standard error was read.
	exited chan struct{}
}

// startProcess starts a worker and waits until its limits are set.
func startProcess(o Options) (*process, error) {
	command, err := o.command()
	if err != nil {
		return nil, err
	}
	w, err := spawn(command, o)
	if err != nil {
		return nil, fmt.Errorf("starting worker %s: %w", command[0], err)
	}
	if err := w.awaitReady(); err != nil {
		w.kill()
		<-w.exited

		return nil, fmt.Errorf("starting worker %s: %w", command[0], err)
	}

	return w, nil
}

// spawn starts the process, sets its limits and starts the goroutines that serve it.
func spawn(command []string, o Options) (*process, error) {
	//nolint:noctx,gosec // A worker outlives the call that starts it. The command is our own executable.
	cmd := exec.Command(command[0], command[1:]...)
	w := &process{
		cmd: cmd, memory: o.Memory, timeout: o.Timeout, stderr: &crashReport{},
		frames: make(chan frame), drained: make(chan struct{}), killed: make(chan struct{}), exited: make(chan struct{}),
	}
	cmd.Env = []string{}
	cmd.Dir = rootDir()
	cmd.Stderr = w.stderr
	cmd.WaitDelay = drainTime
	inOwnGroup(cmd)
	if err := w.startWithPipes(); err != nil {
		return nil, err
	}

	limited, err := limitGroup(cmd.Process, o.Memory)
	if err != nil {
		_ = cmd.Process.Kill() // The process is waited for in any case.
		_ = cmd.Wait()
		w.closePipes()

		return nil, fmt.Errorf("limiting the process: %w", err)
	}
	w.group = limited
	w.serveOutput(o.Output)
	w.awaitExit()

	return w, nil
}

// serveOutput reads the frames of the worker in the background.
func (p *process) serveOutput(output int64) {
	go func() {
		defer close(p.drained)
		defer close(p.frames)
		p.problem = panics.Recovering("reading what a worker writes", func() error { return p.read(output) })()
	}()
}

// awaitExit waits for the end of the process in the background. It closes exited even after a
// panic.
func (p *process) awaitExit() {
	go func() {
		defer close(p.exited)
		defer p.kill()
		panics.RecoveringTo(ignore, "waiting for the end of a worker", p.wait)()
	}()
}

// ignore drops a panic that no call waits for: the worker is ended anyway.
func ignore(error) {}

// startWithPipes starts the command with its own pipes. os/exec would close its pipes as soon as
// the process ends, even if they were not read to the end.
func (p *process) startWithPipes() error {
	stdin, toWorker, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("making a pipe: %w", err)
	}
	fromWorker, stdout, err := os.Pipe()
	if err != nil {
		return errors.Join(fmt.Errorf("making a pipe: %w", err), stdin.Close(), toWorker.Close())
	}
	p.cmd.Stdin, p.cmd.Stdout = stdin, stdout
	p.stdin, p.stdout = toWorker, fromWorker

	err = p.cmd.Start()
	_, _ = stdin.Close(), stdout.Close() // The worker has its own copies.
	if err != nil {
		p.closePipes()

		return err
	}

	return nil
}

func (p *process) closePipes() {
	_, _ = p.stdin.Close(), p.stdout.Close() // Nothing was buffered that could be lost.
}

// awaitReady waits until the worker reports that it reads calls.
func (p *process) awaitReady() error {
	late := time.NewTimer(startTimeout)
	defer late.Stop()

	select {
	case f, ok := <-p.frames:
		if !ok {
			return p.death()
		}
		if f.kind != frameReady {
			return &protocolError{problem: fmt.Sprintf("it sent a frame of kind %d first", f.kind)}
		}

		return nil
	case <-late.C:
		return fmt.Errorf("not ready after %s", startTimeout)
	}
}

// read passes on the frames of the worker until its output ends or is invalid. It returns why no
// more frames follow.
func (p *process) read(output int64) error {
	limit := func(kind frameKind) int64 {
		switch kind {
		case frameReady, frameBegun:
			return 0
		case frameQuestion, frameError:
			return maxQuestion
		case frameResult:
			return output
		case frameCall, frameResponse, frameRefusal:
			return -1
		default:
			return -1
		}
	}
	for reader := bufio.NewReader(p.stdout); ; {
		f, err := readFrame(reader, limit)
		if err != nil {
			return err
		}
		select {
		case p.frames <- f:
		case <-p.killed:
			return os.ErrProcessDone
		}
	}
}

// wait waits for the end of the process and frees its resources. Frames that it sent before are
// still read. They show whether the process had begun the call that ended it.
func (p *process) wait() {
	_ = p.cmd.Wait() // The state of the process has more than this error.
	p.endGroup()
	late := time.NewTimer(drainTime)
	defer late.Stop()
	select {
	case <-p.drained:
	case <-p.killed:
	case <-late.C:
	}
}

// kill ends the process and all processes that it started. It does not wait.
func (p *process) kill() {
	p.killOnce.Do(func() {
		close(p.killed)
		p.endGroup()
		// A call that reads or writes then returns at once, even if the process does not exit.
		p.closePipes()
	})
}

// endGroup ends all processes of the group, once.
func (p *process) endGroup() { p.groupOnce.Do(p.group.kill) }

// isDead reports whether the process was killed or ended by itself.
func (p *process) isDead() bool {
	select {
	case <-p.killed:
		return true
	default:
		return false
	}
}

// death waits for the end of a worker whose output has ended, and returns the cause.
func (p *process) death() error {
	var (
		invalid  *protocolError
		long     *tooLongError
		panicked *panics.Error
	)
	if errors.As(p.problem, &invalid) || errors.As(p.problem, &long) || errors.As(p.problem, &panicked) {
		return p.problem
	}
	// A worker may close its output and continue to run. Killing a crashed worker changes nothing:
	// its exit status is set before its files are closed.
	p.kill()
	<-p.exited

	return crash(p.cmd.ProcessState, p.stderr.reason(), p.timeout, p.memory)
}
