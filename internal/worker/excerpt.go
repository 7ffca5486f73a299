package worker

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
)

const (
	excerptHead = 4 << 10
	excerptTail = 4 << 10
	// longestMarker is at least the length of the longest text of crashMarkers.
	longestMarker = 64
)

// crashMarkers are the texts with which a crash report of a Go program begins.
func crashMarkers() []string {
	return []string{"runtime: goroutine stack exceeds", "runtime: out of memory", threadFailed, fatalError, "panic: "}
}

// excerpt keeps the beginning and the end of what is written to it. If there is a crash report, the
// excerpt begins with the report, because the cause of the crash is there.
type excerpt struct {
	mu      sync.Mutex
	head    []byte
	tail    []byte
	omitted bool
	crashed bool
}

// Write never fails, so the worker never waits for its standard error to be read. Write runs in a
// goroutine of os/exec, which recovers no panic.
func (e *excerpt) Write(p []byte) (_ int, err error) {
	defer panics.Recover("keeping the standard error of a worker", &err)
	e.mu.Lock()
	defer e.mu.Unlock()

	rest := e.restart(p)
	room := min(excerptHead-len(e.head), len(rest))
	e.head = append(e.head, rest[:room]...)
	e.tail = append(e.tail, rest[room:]...)
	if extra := len(e.tail) - excerptTail; extra > 0 {
		e.omitted = true
		e.tail = append([]byte(nil), e.tail[extra:]...)
	}

	return len(p), nil
}

// restart drops what was written before a crash report. It returns the text that is to be kept.
func (e *excerpt) restart(p []byte) []byte {
	if e.crashed {
		return p
	}
	// A marker may be split between two writes.
	before := e.last(longestMarker)
	joined := slices.Concat(before, p)
	start := firstMarker(joined)
	if start < 0 {
		return p
	}
	e.crashed = true
	e.head, e.tail, e.omitted = nil, nil, false

	return joined[start:]
}

// last returns a copy of the last bytes, at most count.
func (e *excerpt) last(count int) []byte {
	from := e.tail
	if len(from) == 0 {
		from = e.head
	}

	return bytes.Clone(from[max(0, len(from)-count):])
}

// firstMarker returns the start of the first line that begins with a marker, or -1.
func firstMarker(text []byte) int {
	for at := 0; at < len(text); {
		if beginsCrash(text[at:]) {
			return at
		}
		end := bytes.IndexByte(text[at:], '\n')
		if end < 0 {
			return -1
		}
		at += end + 1
	}

	return -1
}

func beginsCrash(line []byte) bool {
	return slices.ContainsFunc(crashMarkers(), func(marker string) bool {
		return bytes.HasPrefix(line, []byte(marker))
	})
}

// reset drops everything.
func (e *excerpt) reset() {
	e.mu.Lock()
	defer e.mu.Unlock()

	e.head, e.tail, e.omitted, e.crashed = nil, nil, false, false
}

func (e *excerpt) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()

	var text strings.Builder
	text.Write(e.head)
	if e.omitted {
		text.WriteString("\n[…]\n")
	}
	text.Write(e.tail)

	return text.String()
}
