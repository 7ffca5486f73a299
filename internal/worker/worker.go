// Package worker runs foreign code, such as templates, in processes of the provider's own binary. A
// worker has no environment, no files, no network and little memory. If a worker crashes, one call
// fails.
//
// The parent has a [Pool] and makes calls; a worker runs [Serve] and calls handlers. During a call,
// the worker can send questions to the parent, and the parent sends answers. Both exchange frames
// over the standard input and output of the worker. The package handles processes, pipes and
// limits, but not what is computed.
package worker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"time"
)

// Argument is the first argument of a worker process. A program that uses this package must call
// [Serve] at once if it gets this argument.
const Argument = "render-worker"

const (
	defaultMemory  = 1 << 30
	defaultOutput  = 64 << 20
	defaultTimeout = time.Minute
	// clockFactor is how much longer than its CPU time a call may take.
	clockFactor = 10
	// budgetFactor is how many calls may fail at the limit of their time.
	budgetFactor = 10
	// minMemory is the memory of a worker on a small machine: the packages of the provider use
	// about 60 MiB before the first request.
	minMemory = 128 << 20
	// maxStack ends an infinite recursion before it uses all memory of a worker.
	maxStack = 64 << 20
)

// Options configure a [Pool].
type Options struct {
	// Command is the path and the arguments of the worker. Empty means the running executable with
	// [Argument]. The pool appends the limit of the CPU time in nanoseconds and that of the memory in bytes.
	Command []string
	// Processes is how many workers run at most at once. 0 is one per core.
	Processes int
	// Memory is what a worker may use, in bytes. 0 is 1 GiB. All workers together use at most half
	// of the memory of the container or the machine. If that is little memory, a pool has fewer
	// workers, or workers with less memory.
	Memory int64
	// Output is how many bytes a call may return. 0 is 64 MiB.
	Output int64
	// Timeout is how much CPU time a call may use; 0 is one minute. A machine that has much else to do
	// makes no call fail. As a far limit, a call ends after ten times as long by the clock. That includes
	// the time to answer questions, but not the time in which the call waits for a worker.
	Timeout time.Duration
	// Budget is how long all calls together may run that fail. 0 is ten times Timeout. When it is
	// used up, no call begins any more.
	Budget time.Duration
}

// Ask returns the answer to a question of a worker during a call. The caller limits the number and
// the size of answers.
type Ask func(ctx context.Context, kind string, question []byte) (answer []byte, err error)

// withDefaults sets defaults for unset options and fits the workers into total bytes of memory. A
// total of 0 means unknown.
func (o Options) withDefaults(total int64) Options {
	o.Processes = positive(o.Processes, runtime.GOMAXPROCS(0))
	o.Memory = positive(o.Memory, defaultMemory)
	o.Output = min(positive(o.Output, defaultOutput), math.MaxUint32)
	o.Timeout = positive(o.Timeout, defaultTimeout)
	o.Budget = positive(o.Budget, budgetFactor*o.Timeout)
	if total <= 0 {
		return o
	}

	o.Memory = min(o.Memory, max(total/2, minMemory))
	o.Processes = int(min(int64(o.Processes), max(total/2/o.Memory, 1)))

	return o
}

// positive returns value, or instead if value is not positive.
func positive[N int | int64 | time.Duration](value, instead N) N {
	if value > 0 {
		return value
	}

	return instead
}

// command returns the path and the arguments of a worker.
func (o Options) command() ([]string, error) {
	limits := []string{strconv.FormatInt(int64(o.Timeout), 10), strconv.FormatInt(o.Memory, 10)}
	if len(o.Command) > 0 {
		return slices.Concat(o.Command, limits), nil
	}
	path, err := executable()
	if err != nil {
		return nil, fmt.Errorf("starting worker %s: %w", os.Args[0], err)
	}

	return append([]string{path, Argument}, limits...), nil
}

// executable returns the path of the running program. On Linux it returns a path that stays valid
// if an update has replaced the file.
func executable() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding the running executable: %w", err)
	}

	return path, nil
}

// ErrClosed is returned by calls of a closed [Pool].
var ErrClosed = errors.New("the worker pool is closed")
