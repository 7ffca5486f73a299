package gittest

import (
	"context"
	"errors"
	"io"
)

var errBroken = errors.New("the server breaks off")

// breaking wraps the writer of a response with a pack. The writer fails after BreakAfter bytes.
func (o Options) breaking(ctx context.Context, to io.Writer) io.Writer {
	if o.BreakAfter == 0 {
		return to
	}
	left := o.BreakAfter
	return writerFunc(func(p []byte) (int, error) {
		n, err := to.Write(p[:min(len(p), left)])
		if left -= n; left > 0 || err != nil {
			return n, err
		}
		if o.Stall {
			<-ctx.Done()
		}
		return n, errBroken
	})
}

type writerFunc func([]byte) (int, error)

// Write implements io.Writer.
func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
