package worker

import "strconv"

// HandlerError is an error that a handler returned, or its panic. The worker is intact.
type HandlerError struct {
	Text string
}

func (e *HandlerError) Error() string { return e.Text }

// CrashError reports that a worker ended during a call.
type CrashError struct {
	// Reason is the fatal error of the Go runtime or the exit status, such as
	// "concurrent map writes", "signal: killed" or "exit status 2". It contains nothing of the
	// request.
	Reason string
}

func (e *CrashError) Error() string { return "the worker process ended: " + e.Reason }

// LimitKind is the kind of limit that a call exceeded.
type LimitKind string

// The limits of a call.
const (
	LimitTime   LimitKind = "time"
	LimitMemory LimitKind = "memory"
	LimitOutput LimitKind = "output"
	LimitStack  LimitKind = "stack"
)

// LimitError reports that a call exceeded a limit. The pool ended its worker.
type LimitError struct {
	Limit LimitKind
	// Value is the limit in readable form, such as "1 GiB" or "1m0s".
	Value string
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

	return "it took more than " + e.Value + " of " + string(e.Limit)
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
