package worker

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
)

const secret = "password=hunter2"

// panicking is the output of a worker whose reader panics.
type panicking struct{ io.Closer }

func (panicking) Read([]byte) (int, error) { panic(secret) }

// withoutProcess returns a worker without a process.
func withoutProcess() *process {
	w := &process{
		stdout: panicking{io.NopCloser(nil)}, stderr: &crashReport{},
		frames: make(chan frame), drained: make(chan struct{}), killed: make(chan struct{}), exited: make(chan struct{}),
	}
	w.groupOnce.Do(func() {}) // There is no group to end.
	return w
}

// expectPanic checks that an error is a panic and does not show its text.
func expectPanic(t *testing.T, err error) {
	t.Helper()
	panicked, ok := errors.AsType[*panics.Error](err)
	if !ok {
		t.Fatalf("error = %v, want a *panics.Error", err)
	}
	if strings.Contains(err.Error()+panicked.Stack, secret) {
		t.Errorf("what the panic was given shows: %v", err)
	}
}

// If a panic prevents the start of a worker, the waiting call fails.
func TestPanicWhileStarting(t *testing.T) {
	t.Parallel()
	pool := New(Options{Processes: 1})
	pool.spawn = func(Options) (*process, error) { panic(secret) }
	expectPanic(t, pool.Call(t.Context(), "m", nil, nil, nil))
	if err := pool.Close(); err != nil {
		t.Error(err)
	}
}

// If reading a worker's output panics, its call fails.
func TestPanicWhileReading(t *testing.T) {
	t.Parallel()
	w := withoutProcess()
	w.serveOutput(1)
	select {
	case <-w.drained:
	case <-time.After(time.Minute):
		t.Fatal("nobody is told that no more frames are read")
	}
	if _, more := <-w.frames; more {
		t.Error("there is a frame")
	}
	expectPanic(t, w.death())
}

// If waiting for the end of a worker panics, others do not wait for ever.
func TestPanicWhileWaiting(t *testing.T) {
	t.Parallel()
	w := withoutProcess()
	w.awaitExit() // The worker has no command to wait for.
	select {
	case <-w.exited:
	case <-time.After(time.Minute):
		t.Fatal("nobody is told that the worker is gone")
	}
}
