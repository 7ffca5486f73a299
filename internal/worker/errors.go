package worker

import (
	"fmt"
	"strconv"
)

// HandlerError is an error that a handler returned, or its panic. The worker is intact.
type HandlerError struct {
	Text string
}

func (e *HandlerError) Error() string { return e.Text }

// StartError reports that no worker could be started.
type StartError struct {
	// Command is the path of the executable.
	Command string
	Err     error
}

func (e *StartError) Error() string { return fmt.Sprintf("starting worker %s: %v", e.Command, e.Err) }

func (e *StartError) Unwrap() error { return e.Err }

// CrashError reports that a worker ended during a call.
type CrashError struct {
	// Reason is the fatal error of the Go runtime or the exit status, such as
	// "concurrent map writes", "signal: killed" or "exit status 2". It contains nothing of the
	// request.
	Reason string
	// Stderr is the beginning and the end of what the worker wrote to standard error. It may quote
	// the request, so mask it before printing.
	Stderr string
}

func (e *CrashError) Error() string { return "the worker process ended: " + e.Reason }

// LimitKind is the kind of limit that a call exceeded.
type LimitKind int

// The limits of a call.
const (
	LimitTime LimitKind = iota + 1
	LimitMemory
	LimitOutput
	LimitStack
)

func (k LimitKind) String() string {
	switch k {
	case LimitTime:
		return "time"
	case LimitMemory:
		return "memory"
	case LimitOutput:
		return "output"
	case LimitStack:
		return "stack"
	default:
		return "LimitKind(" + strconv.Itoa(int(k)) + ")"
	}
}

// LimitError reports that a call exceeded a limit. The pool ended its worker.
type LimitError struct {
	Limit LimitKind
	// Value is the limit in readable form, such as "1 GiB" or "1m0s".
	Value string
	// Stderr is as in [CrashError], if the worker crashed at the limit.
	Stderr string
}

// ExceedsLimit reports that a call took too long, or too much.
func (*LimitError) ExceedsLimit() bool { return true }

func (e *LimitError) Error() string {
	switch e.Limit {
	case LimitTime:
		return "it took more than " + e.Value
	case LimitOutput:
		return "it returned more than " + e.Value
	case LimitMemory, LimitStack:
	}

	return "it took more than " + e.Value + " of " + e.Limit.String()
}

// formatBytes writes a size in the largest unit in which it is a whole number.
func formatBytes(size int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	unit := 0
	for size >= 1<<10 && size%(1<<10) == 0 && unit < len(units)-1 {
		size >>= 10
		unit++
	}

	return strconv.FormatInt(size, 10) + " " + units[unit]
}
