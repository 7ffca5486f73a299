package progress

import (
	"fmt"
	"io"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
)

const (
	// maxQueued is how many lines are queued for a slow reader. Further lines are counted and left
	// out.
	maxQueued = 1024
	// redraw is the minimum time between two versions of the line on a terminal.
	redraw = 200 * time.Millisecond
	// closing is how long Close waits for the reader.
	closing = time.Second
)

// Reporter writes events. It is safe for concurrent use, and a nil Reporter writes nothing.
type Reporter struct {
	to io.Writer
	// width returns the columns of the terminal, 0 if they are not known. It is nil for a file.
	width func() int
	// closed is closed to end the goroutine that writes, and ended is closed by that goroutine.
	closed, ended chan struct{}

	mu      sync.Mutex
	closes  bool
	queued  []string
	more    chan struct{}
	left    int // lines that were left out since the last one was queued
	summary summary
	drawn   string
	// last is the line that stays on the terminal when an apply has ended.
	last string
}

// NewFile returns a Reporter that writes a line for each event.
func NewFile(to io.Writer) *Reporter { return start(&Reporter{to: to}) }

// NewTerminal returns a Reporter that rewrites one line, cut to the width of the terminal.
func NewTerminal(to io.Writer, width func() int) *Reporter {
	return start(&Reporter{to: to, width: width})
}

func start(r *Reporter) *Reporter {
	r.closed = make(chan struct{})
	r.ended = make(chan struct{})
	r.more = make(chan struct{}, 1)
	run := r.writeLines
	if r.width != nil {
		run = r.drawSummary
	}
	go func() {
		defer close(r.ended)
		panics.RecoveringTo(func(error) {}, "writing the progress", run)()
	}()
	return r
}

// Report records an event and returns at once.
func (r *Reporter) Report(event deploy.Event) {
	if r == nil {
		return
	}
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.width != nil {
		if r.summary.add(event, now) {
			r.last = r.summary.line(now)
		}
		return
	}
	if len(r.queued) >= maxQueued {
		r.left++
		return
	}
	r.queued = append(r.queued, stamp(now)+Line(event)+"\n")
	select {
	case r.more <- struct{}{}:
	default:
	}
}

func stamp(now time.Time) string { return now.UTC().Format(time.RFC3339) + " " }

// Close writes the queued lines, for at most a second.
func (r *Reporter) Close() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	if !r.closes {
		close(r.closed)
	}
	r.closes = true
	r.mu.Unlock()
	timer := time.NewTimer(closing)
	defer timer.Stop()
	select {
	case <-r.ended:
	case <-timer.C:
	}
	return nil
}

func (r *Reporter) writeLines() {
	for {
		select {
		case <-r.more:
			r.flush()
		case <-r.closed:
			r.flush()
			return
		}
	}
}

// flush writes queued lines one by one, so that a reader gets whole lines. It ignores an error of
// the file: the apply continues without it.
func (r *Reporter) flush() {
	for {
		line, ok := r.next()
		if !ok {
			return
		}
		_, _ = io.WriteString(r.to, line)
	}
}

func (r *Reporter) next() (string, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queued) == 0 {
		if r.left == 0 {
			return "", false
		}
		line := fmt.Sprintf("%s%d events were left out, because this file was read too slowly\n", stamp(time.Now()), r.left)
		r.left = 0
		return line, true
	}
	line := r.queued[0]
	r.queued = r.queued[1:]
	return line, true
}

// drawSummary writes the line again if it has changed. The cursor stays in the first column, so
// that the next line of another program starts there.
func (r *Reporter) drawSummary() {
	ticks := time.NewTicker(redraw)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
			r.draw()
		case <-r.closed:
			r.draw()
			return
		}
	}
}

func (r *Reporter) draw() {
	const erase = "\r\x1b[K"
	if text := r.drawing(); text != "" {
		_, _ = io.WriteString(r.to, erase+text)
	}
}

// drawing returns the text to write after the line was cleared, "" for no change.
func (r *Reporter) drawing() string {
	width := r.width()
	r.mu.Lock()
	defer r.mu.Unlock()
	text := ""
	if r.last != "" {
		text = fit(r.last, width) + "\r\n"
		r.last, r.drawn = "", ""
	}
	if r.summary.running == 0 {
		return text
	}
	if line := fit(r.summary.line(time.Now()), width); line != r.drawn || text != "" {
		r.drawn = line
		text += line + "\r"
	}
	return text
}

// fit cuts a line to the columns of a terminal, since a line that wraps cannot be rewritten. The
// last column stays free.
func fit(line string, width int) string {
	if width <= 1 || utf8.RuneCountInString(line) < width {
		return line
	}
	return string([]rune(line)[:width-1])
}
