package git

import (
	"context"
	"errors"
	"io"
	"time"
)

// defaultStallTimeout is how long a server may be silent. One that packs a large
// repository says something every few seconds.
const defaultStallTimeout = 2 * time.Minute

var errStalled = errors.New("nothing has arrived")

// watch ends a context when nothing has arrived for some time.
type watch struct {
	patience time.Duration
	timer    *time.Timer
	cancel   context.CancelCauseFunc
}

// newWatch starts a watch over ctx, which ends with errStalled as its cause or
// with stop.
func newWatch(ctx context.Context, patience time.Duration) (context.Context, *watch) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(patience, func() { cancel(errStalled) })
	return ctx, &watch{patience: patience, timer: timer, cancel: cancel}
}

// pause ends the watching, and lets the context go on.
func (w *watch) pause() { w.timer.Stop() }

func (w *watch) stop() {
	w.timer.Stop()
	w.cancel(nil)
}

// over answers a reader of r whose every byte is a sign of life.
func (w *watch) over(r io.Reader) io.Reader { return watched{r, w} }

type watched struct {
	from  io.Reader
	watch *watch
}

func (w watched) Read(p []byte) (int, error) {
	n, err := w.from.Read(p)
	if n > 0 {
		w.watch.timer.Reset(w.watch.patience)
	}
	return n, err
}
