package worker

import (
	"os"
	"strings"
	"time"
)

// Exit codes of a worker that ended because it used too much memory or CPU time.
const (
	exitMemory = 86
	exitTime   = 87
)

const (
	// fatalError is the prefix of the line with the cause in a crash report of Go.
	fatalError = "fatal error: "
	// threadFailed is the prefix if a program with cgo got no memory for the stack of a thread.
	threadFailed = "runtime/cgo: pthread_create failed"
	noThread     = "no memory for a thread"
)

// crash returns why a worker ended, from its exit status and its crash report.
func crash(state *os.ProcessState, stderr string, timeout time.Duration, memory int64) error {
	fatal := fatalReason(stderr)
	switch {
	case fatal == "stack overflow":
		return &LimitError{Limit: LimitStack, Value: formatBytes(maxStack), Stderr: stderr}
	case state.ExitCode() == exitMemory, isOutOfMemory(fatal):
		return &LimitError{Limit: LimitMemory, Value: formatBytes(memory), Stderr: stderr}
	case state.ExitCode() == exitTime:
		return &LimitError{Limit: LimitTime, Value: timeout.String() + " of CPU time"}
	case fatal != "":
		return &CrashError{Reason: fatal, Stderr: stderr}
	default:
		return &CrashError{Reason: state.String(), Stderr: stderr}
	}
}

// isOutOfMemory reports whether the Go runtime got no memory from the system.
func isOutOfMemory(fatal string) bool {
	return strings.Contains(fatal, "out of memory") ||
		strings.Contains(fatal, "cannot allocate memory") ||
		fatal == noThread
}

// fatalReason returns the fatal error of the Go runtime, or "".
func fatalReason(stderr string) string {
	for line := range strings.Lines(stderr) {
		if strings.HasPrefix(line, threadFailed) {
			return noThread
		}
		if reason, ok := strings.CutPrefix(line, fatalError); ok {
			return strings.TrimSpace(reason)
		}
	}

	return ""
}
