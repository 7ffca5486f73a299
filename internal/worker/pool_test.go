//go:build unix

package worker_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker"
)

const small = 256 << 20

func TestCall(t *testing.T) {
	t.Parallel()

	pool := newPool(t, worker.Options{Processes: 1})
	values := map[string]any{"name": "web", "replicas": int64(3), "list": []any{nil, 1e6, true}}
	tests := map[string]struct {
		method string
		want   any
		err    error
	}{
		"response":          {method: "echo", want: values},
		"error":             {method: "fail", err: &worker.HandlerError{Text: "no such value"}},
		"panic":             {method: "panic", err: &worker.HandlerError{Text: "panic: index out of range"}},
		"unknown method":    {method: "nothing", err: &worker.HandlerError{Text: `the worker has no method "nothing"`}},
		"standard streams":  {method: "print", want: []any{int64(0), "<nil>", "EOF"}},
		"empty environment": {method: "environ", want: []any{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var got any
			err := pool.Call(t.Context(), tt.method, values, &got, nil)
			if diff := cmp.Diff(tt.err, err); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("response (-want +got):\n%s", diff)
			}
		})
	}
}

func TestErrorsOfHandlersKeepTheWorker(t *testing.T) {
	t.Parallel()

	pool := newPool(t, worker.Options{Processes: 1})
	before := call[int](t, pool, "pid", nil)
	for _, method := range []string{"fail", "panic"} {
		if err := pool.Call(t.Context(), method, nil, nil, nil); err == nil {
			t.Errorf("%s returned no error", method)
		}
	}
	if after := call[int](t, pool, "pid", nil); after != before {
		t.Errorf("another worker runs: %d instead of %d", after, before)
	}
}

func TestManyCalls(t *testing.T) {
	t.Parallel()

	const processes = 2
	pool := newPool(t, worker.Options{Processes: processes})
	var (
		calls sync.WaitGroup
		mu    sync.Mutex
		pids  = map[int]bool{}
	)
	for i := range 100 {
		calls.Go(func() {
			text := strings.Repeat(fmt.Sprint(i, " "), 10_000)
			var got string
			if err := pool.Call(t.Context(), "echo", text, &got, nil); err != nil || got != text {
				t.Errorf("call %d returned %d bytes, error %v", i, len(got), err)
			}
			var pid int
			if err := pool.Call(t.Context(), "pid", nil, &pid, nil); err != nil {
				t.Errorf("call %d: %v", i, err)
			}
			mu.Lock()
			defer mu.Unlock()
			pids[pid] = true
		})
	}
	calls.Wait()
	if len(pids) > processes {
		t.Errorf("%d workers ran, more than %d", len(pids), processes)
	}
}

func TestQuestions(t *testing.T) {
	t.Parallel()

	upper := func(_ context.Context, kind string, question []byte) ([]byte, error) {
		return fmt.Appendf(nil, "%s %s", kind, question), nil
	}
	deny := func(context.Context, string, []byte) ([]byte, error) { return nil, errors.New("too many questions") }
	tests := map[string]struct {
		questions questions
		ask       worker.Ask
		want      []string
		err       error
	}{
		"answered": {questions: questions{Kind: "lookup", Count: 3}, ask: upper, want: []string{"lookup 0", "lookup 1", "lookup 2"}},
		"refused":  {questions: questions{Kind: "lookup", Count: 1}, ask: deny, err: &worker.HandlerError{Text: "too many questions"}},
		"nobody to ask": {
			questions: questions{Kind: "lookup", Count: 1},
			err:       &worker.HandlerError{Text: `requests such as "lookup" are not permitted here`},
		},
		"too long": {
			questions: questions{Kind: "lookup", Count: 1, Size: 1 << 20}, ask: upper,
			err: &worker.HandlerError{Text: "a request to the provider has 1048584 bytes; at most 1048576 are allowed"},
		},
		"name too long": {
			questions: questions{Kind: strings.Repeat("k", 300), Count: 1}, ask: upper,
			err: &worker.HandlerError{Text: "a name of 300 bytes is longer than 255"},
		},
	}
	pool := newPool(t, worker.Options{Processes: 1})
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var got []string
			err := pool.Call(t.Context(), "ask", tt.questions, &got, tt.ask)
			if diff := cmp.Diff(tt.err, err); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("answers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestQuestionAfterTheCall(t *testing.T) {
	t.Parallel()

	pool := newPool(t, worker.Options{Processes: 1})
	call[string](t, pool, "late", nil)
	if got := call[string](t, pool, "late", nil); got != "the call is over" {
		t.Errorf("the late question gave %q", got)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		method  string
		request any
		options worker.Options
		want    error
	}{
		"stack":  {method: "recurse", want: &worker.LimitError{Limit: worker.LimitStack, Value: "64 MiB"}},
		"memory": {method: "allocate", options: worker.Options{Memory: small}, want: &worker.LimitError{Limit: worker.LimitMemory, Value: "256 MiB"}},
		"memory at once": {
			method: "output", request: 10 << 30, options: worker.Options{Memory: small},
			want: &worker.LimitError{Limit: worker.LimitMemory, Value: "256 MiB"},
		},
		"time": {
			method: "loop", options: worker.Options{Timeout: time.Second},
			want: &worker.LimitError{Limit: worker.LimitTime, Value: "1s of CPU time"},
		},
		"output": {
			method: "output", request: 1 << 20, options: worker.Options{Output: 1 << 20},
			want: &worker.LimitError{Limit: worker.LimitOutput, Value: "1 MiB"},
		},
		"crash": {method: "crash", want: &worker.CrashError{Reason: "exit status 2"}},
		"exit":  {method: "exit", want: &worker.CrashError{Reason: "exit status 3"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			tt.options.Processes = 1
			pool := newPool(t, tt.options)
			pool.SetClock(time.Hour) // The machine may have much else to do.
			err := pool.Call(t.Context(), tt.method, tt.request, nil, nil)
			if diff := cmp.Diff(tt.want, err); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}

			// The call that ended a worker is not run again, and other calls are not affected.
			again := pool.Call(t.Context(), tt.method, tt.request, nil, nil)
			if again != err { //nolint:errorlint // It is the same error.
				t.Errorf("the second call returned %v", again)
			}
			if got := call[string](t, pool, "echo", "x"); got != "x" {
				t.Errorf("the next call returned %q", got)
			}
			if got := pool.Started(); got != 2 {
				t.Errorf("%d workers were started, not one for the killer and one after it", got)
			}
		})
	}
}

// failing is a response that says that its call failed.
type failing string

func (failing) Failed() bool { return true }

// When failed calls have used up their budget, no other call begins. Calls that succeed count
// nothing, and calls that may fail have a budget of their own.
func TestBudget(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		before func(pool *worker.Pool) error
		// call and try are the errors of a call after it.
		call, try error
	}{
		"a success":            {before: func(p *worker.Pool) error { return p.Call(t.Context(), "echo", "x", nil, nil) }},
		"an error":             {before: func(p *worker.Pool) error { return p.Call(t.Context(), "fail", nil, nil, nil) }, call: &worker.BudgetError{Budget: 1}},
		"a limit":              {before: func(p *worker.Pool) error { return p.Call(t.Context(), "loop", nil, nil, nil) }, call: &worker.BudgetError{Budget: 1}},
		"a crash":              {before: func(p *worker.Pool) error { return p.Call(t.Context(), "crash", nil, nil, nil) }, call: &worker.BudgetError{Budget: 1}},
		"a result that failed": {before: func(p *worker.Pool) error { return p.Call(t.Context(), "echo", "x", new(failing), nil) }, call: &worker.BudgetError{Budget: 1}},
		"an attempt":           {before: func(p *worker.Pool) error { return p.Try(t.Context(), "fail", nil, nil, nil) }, try: &worker.BudgetError{Budget: 1}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			pool := newPool(t, worker.Options{Processes: 1, Timeout: 5 * time.Second, Budget: 1})
			_ = tt.before(pool)
			got := []error{pool.Call(t.Context(), "echo", "y", nil, nil), pool.Try(t.Context(), "echo", "y", nil, nil)}
			if diff := cmp.Diff([]error{tt.call, tt.try}, got); diff != "" {
				t.Errorf("errors of a call and an attempt (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRogueWorker(t *testing.T) {
	t.Parallel()

	outOfOrder := func(text string) error { return &worker.CrashError{Reason: text} }
	tests := map[string]error{
		"long result":           &worker.LimitError{Limit: worker.LimitOutput, Value: "64 MiB"},
		"long question":         outOfOrder("a frame of kind 6 has 4294967295 bytes; at most 1048576 are allowed"),
		"unnamed question":      outOfOrder("a frame ends within its name"),
		"unknown kind":          outOfOrder("a frame of kind 77 is not allowed here"),
		"another call":          outOfOrder("it sent a frame of call 9 during call 1"),
		"result first":          outOfOrder("it sent a frame of kind 7 out of order"),
		"half a frame":          outOfOrder("exit status 0"),
		"closed output":         outOfOrder("signal: killed"),
		"death before the call": outOfOrder("exit status 7"),
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			pool := newPool(t, worker.Options{Command: command(t, rogueArgument, name), Processes: 1})
			err := pool.Call(t.Context(), "echo", nil, nil, nil)
			if !sameError(want, err) {
				t.Errorf("the call returned %v, not %v", err, want)
			}
		})
	}
}

// sameError compares a typed error with the error of the same type in the chain of err.
func sameError(want, err error) bool {
	var (
		limit *worker.LimitError
		crash *worker.CrashError
	)
	switch {
	case errors.As(err, &limit):
		return cmp.Equal(want, error(limit))
	case errors.As(err, &crash):
		return cmp.Equal(want, error(crash))
	default:
		return false
	}
}

func TestStartFails(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		command []string
		want    string
	}{
		"no executable":   {command: []string{"/nowhere/provider"}, want: "starting worker /nowhere/provider: fork/exec /nowhere/provider: no such file or directory"},
		"another program": {command: command(t, rogueArgument, "silent exit"), want: "the worker process ended: exit status 5"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			pool := newPool(t, worker.Options{Command: tt.command, Processes: 1})
			for range 2 {
				err := pool.Call(t.Context(), "echo", nil, nil, nil)
				if err == nil || !strings.HasPrefix(err.Error(), "starting worker /") || !strings.HasSuffix(err.Error(), tt.want) {
					t.Errorf("the call returned %v, not %s", err, tt.want)
				}
			}
			if got := pool.Started(); got != 2 {
				t.Errorf("%d starts were tried: the failure was remembered", got)
			}
		})
	}
}

func TestIdleWorkerIsReplaced(t *testing.T) {
	t.Parallel()

	pool := newPool(t, worker.Options{Processes: 1})
	for range 10 {
		pid := call[int](t, pool, "pid", nil)
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()

	pool := newPool(t, worker.Options{Processes: 1})
	ctx, cancel := context.WithCancel(t.Context())
	var pid int
	err := pool.Call(ctx, "wait", nil, nil, func(_ context.Context, _ string, question []byte) ([]byte, error) {
		time.AfterFunc(10*time.Millisecond, cancel) // The handler never returns by itself.
		_, err := fmt.Sscan(string(question), &pid)

		return nil, err
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the call returned %v", err)
	}
	awaitEnd(t, pid)

	var asked bool
	ctx, cancel = context.WithCancel(t.Context())
	_ = pool.Call(ctx, "wait", nil, nil, func(context.Context, string, []byte) ([]byte, error) {
		asked = true
		cancel()

		return nil, nil
	})
	if !asked {
		t.Error("a cancelled call was not run again")
	}
}

func TestCancelWhileWaiting(t *testing.T) {
	t.Parallel()

	pool := newPool(t, worker.Options{Processes: 1})
	err := pool.Call(t.Context(), "ask", questions{Count: 1}, nil, func(context.Context, string, []byte) ([]byte, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if err := pool.Call(ctx, "echo", nil, nil, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the waiting call returned %v", err)
		}

		return nil, nil
	})
	if err != nil {
		t.Errorf("the running call returned %v", err)
	}
	call[any](t, pool, "echo", nil)
}

func TestLateResponseDoesNotFailTheCall(t *testing.T) {
	t.Parallel()

	pool := newPool(t, worker.Options{Processes: 1, Timeout: 2 * time.Second})
	var limit *worker.LimitError
	slow := func(ctx context.Context, _ string, _ []byte) ([]byte, error) {
		<-ctx.Done()

		return nil, ctx.Err()
	}
	err := pool.Call(t.Context(), "ask", questions{Count: 1}, nil, slow)
	if !errors.As(err, &limit) || limit.Limit != worker.LimitTime {
		t.Errorf("the call returned %v", err)
	}
	quick := func(context.Context, string, []byte) ([]byte, error) { return nil, nil }
	if err := pool.Call(t.Context(), "ask", questions{Count: 1}, nil, quick); err != nil {
		t.Errorf("the same call returned %v", err)
	}
}

func TestStartAheadOfNeed(t *testing.T) {
	t.Parallel()

	pool := newPool(t, worker.Options{Processes: 4})
	pool.Start()
	pool.Start()
	for range 3 {
		call[any](t, pool, "echo", nil)
	}
	if got := pool.Started(); got != 1 {
		t.Errorf("%d workers were started for calls one after the other", got)
	}
}

func TestCallsAreServedInOrder(t *testing.T) {
	t.Parallel()

	pool := newPool(t, worker.Options{Processes: 1})
	var (
		waiting sync.WaitGroup
		mu      sync.Mutex
		order   []int
	)
	err := pool.Call(t.Context(), "ask", questions{Count: 1}, nil, func(context.Context, string, []byte) ([]byte, error) {
		for i := range 5 {
			waiting.Go(func() {
				note := func(context.Context, string, []byte) ([]byte, error) {
					mu.Lock()
					defer mu.Unlock()
					order = append(order, i)

					return nil, nil
				}
				if err := pool.Call(t.Context(), "ask", questions{Count: 1}, nil, note); err != nil {
					t.Errorf("call %d: %v", i, err)
				}
			})
			await(t, "the call to wait", func() bool { return pool.Waiting() > i })
		}

		return nil, nil
	})
	if err != nil {
		t.Error(err)
	}
	waiting.Wait()
	if !slices.IsSorted(order) || len(order) != 5 {
		t.Errorf("the calls ran in the order %v", order)
	}
}

// TestClose is not parallel: it counts goroutines.
func TestClose(t *testing.T) {
	before := runtime.NumGoroutine()
	pool := worker.New(worker.Options{Command: command(t, worker.Argument), Processes: 2})
	var calls sync.WaitGroup
	pids := make(chan int, 2)
	for range 2 {
		calls.Go(func() {
			err := pool.Call(t.Context(), "wait", nil, nil, func(_ context.Context, _ string, question []byte) ([]byte, error) {
				var pid int
				_, err := fmt.Sscan(string(question), &pid)
				pids <- pid

				return nil, err
			})
			if !errors.Is(err, worker.ErrClosed) {
				t.Errorf("a running call returned %v", err)
			}
		})
	}
	running := []int{<-pids, <-pids}
	calls.Go(func() {
		if err := pool.Call(t.Context(), "echo", nil, nil, nil); !errors.Is(err, worker.ErrClosed) {
			t.Errorf("a waiting call returned %v", err)
		}
	})
	await(t, "the call to wait", func() bool { return pool.Waiting() > 0 })
	if err := pool.Close(); err != nil {
		t.Error(err)
	}
	for _, pid := range running {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("worker %d is not gone: %v", pid, err)
		}
	}
	calls.Wait()
	if err := pool.Call(t.Context(), "echo", nil, nil, nil); !errors.Is(err, worker.ErrClosed) {
		t.Errorf("a call of a closed pool returned %v", err)
	}
	await(t, "goroutines to end", func() bool { return runtime.NumGoroutine() <= before })
}

func TestWorkerEndsWithItsParent(t *testing.T) {
	t.Parallel()

	arguments := command(t, parentArgument)
	parent := exec.CommandContext(t.Context(), arguments[0], arguments[1:]...)
	parent.Stderr = os.Stderr
	stdout, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscan(stdout, &pid); err != nil {
		t.Fatal(err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // The error only reports the kill.
	awaitEnd(t, pid)
}

// awaitEnd waits until a process has exited.
func awaitEnd(t *testing.T, pid int) {
	t.Helper()

	await(t, fmt.Sprintf("process %d to end", pid), func() bool {
		return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
	})
}

// await waits until a condition is true.
func await(t *testing.T, what string, condition func() bool) {
	t.Helper()

	late := time.After(2 * time.Minute)
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for !condition() {
		select {
		case <-late:
			t.Errorf("waited too long for %s", what)

			return
		case <-poll.C:
		}
	}
}

// TestParentMemory is not parallel: it measures the memory of the process.
func TestParentMemory(t *testing.T) {
	pool := newPool(t, worker.Options{Processes: 1, Memory: small})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, method := range []string{"allocate", "recurse"} {
		if err := pool.Call(t.Context(), method, nil, nil, nil); err == nil {
			t.Errorf("%s returned no error", method)
		}
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 16<<20 {
		t.Errorf("the parent allocated %d bytes", grown)
	}
}
