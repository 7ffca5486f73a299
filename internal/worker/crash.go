package worker

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
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

// crash returns why a worker ended, from its exit status and the fatal error of the Go runtime, if any.
func crash(state *os.ProcessState, fatal string, timeout time.Duration, memory int64) error {
	switch {
	case fatal == "stack overflow":
		return &LimitError{Limit: LimitStack, Value: formatBytes(maxStack)}
	case state.ExitCode() == exitMemory, isOutOfMemory(fatal):
		return &LimitError{Limit: LimitMemory, Value: formatBytes(memory)}
	case state.ExitCode() == exitTime:
		return &LimitError{Limit: LimitTime, Value: timeout.String() + " of CPU time"}
	case fatal != "":
		return &CrashError{Reason: fatal}
	default:
		return &CrashError{Reason: state.String()}
	}
}

// isOutOfMemory reports whether the Go runtime got no memory from the system.
func isOutOfMemory(fatal string) bool {
	return strings.Contains(fatal, "out of memory") ||
		strings.Contains(fatal, "cannot allocate memory") ||
		fatal == noThread
}

// crashReport is the standard error of a worker. It keeps only the fatal error of the Go runtime:
// everything else can quote the request.
type crashReport struct {
	mu    sync.Mutex
	line  []byte // The beginning of the last line.
	fatal string
}

// maxLine is what is kept of a line.
const maxLine = 1 << 10

// Write never fails, so the worker never waits for its standard error to be read. Write runs in a
// goroutine of os/exec, which recovers no panic.
func (c *crashReport) Write(p []byte) (_ int, err error) {
	defer panics.Recover("reading the standard error of a worker", &err)
	c.mu.Lock()
	defer c.mu.Unlock()

	for part := range bytes.Lines(p) {
		c.line = append(c.line, part[:min(len(part), maxLine-len(c.line))]...)
		if bytes.HasSuffix(part, []byte("\n")) {
			c.endLine()
		}
	}

	return len(p), nil
}

// endLine reads the fatal error from the last line, unless an earlier one has it.
func (c *crashReport) endLine() {
	line := string(c.line)
	c.line = c.line[:0]
	if c.fatal != "" {
		return
	}
	if strings.HasPrefix(line, threadFailed) {
		c.fatal = noThread
	} else if reason, ok := strings.CutPrefix(line, fatalError); ok {
		c.fatal = strings.TrimSpace(reason)
	}
}

// reason returns the fatal error, or "".
func (c *crashReport) reason() string {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.endLine()

	return c.fatal
}

func (c *crashReport) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.line, c.fatal = nil, ""
}
