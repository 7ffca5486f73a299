package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// IdleTimeoutError reports that a server sent too little for too long.
type IdleTimeoutError struct {
	After time.Duration
}

func (e *IdleTimeoutError) Error() string {
	return fmt.Sprintf("no data was received for %s", e.After)
}

// IdleTimeout ends a context when too little data has arrived for a while. A transfer may take
// any time, as long as enough data arrives.
type IdleTimeout struct {
	// After is how long it may take until enough data has arrived.
	After time.Duration

	enough, arrived int
	timer           *time.Timer
	cancel          context.CancelCauseFunc
}

// WithIdleTimeout returns a context that ends, with an *IdleTimeoutError as its cause, when fewer
// than enough bytes have arrived within after, or when Stop is called. If enough is 1, each byte
// restarts the time. If it is more, a server cannot keep the context alive by sending a byte now
// and then.
func WithIdleTimeout(ctx context.Context, after time.Duration, enough int) (context.Context, *IdleTimeout) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(after, func() { cancel(&IdleTimeoutError{After: after}) })
	return ctx, &IdleTimeout{After: after, enough: enough, timer: timer, cancel: cancel}
}

// Pause stops the timeout. The context stays valid.
func (t *IdleTimeout) Pause() { t.timer.Stop() }

// Stop stops the timeout and ends the context.
func (t *IdleTimeout) Stop() {
	t.timer.Stop()
	t.cancel(nil)
}

// Reader returns a reader of r whose bytes count as arrived.
func (t *IdleTimeout) Reader(r io.Reader) io.Reader { return arriving{r, t} }

type arriving struct {
	from    io.Reader
	timeout *IdleTimeout
}

func (a arriving) Read(p []byte) (int, error) {
	n, err := a.from.Read(p)
	a.timeout.note(n)
	return n, err
}

func (t *IdleTimeout) note(n int) {
	if t.arrived += n; t.arrived < t.enough {
		return
	}
	t.arrived = 0
	t.timer.Reset(t.After)
}

// IdleTransport cancels a request when its server sends too little, before the response or while
// the body of the response is read. The error is then an *IdleTimeoutError.
type IdleTransport struct {
	Next   http.RoundTripper
	After  time.Duration
	Enough int // Bytes, see WithIdleTimeout.
}

// RoundTrip implements http.RoundTripper.
func (t IdleTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, timeout := WithIdleTimeout(request.Context(), t.After, t.Enough)
	response, err := t.Next.RoundTrip(request.WithContext(ctx))
	if err != nil {
		timeout.Stop()
		return nil, orIdle(ctx, err)
	}
	response.Body = &idleBody{ReadCloser: response.Body, timeout: timeout, cause: func(err error) error { return orIdle(ctx, err) }}
	return response, nil
}

// orIdle returns the idle timeout that ended ctx, or err if there is none.
func orIdle(ctx context.Context, err error) error {
	if idle, ok := errors.AsType[*IdleTimeoutError](context.Cause(ctx)); ok {
		return idle
	}
	return err
}

// idleBody is the body of a response.
type idleBody struct {
	io.ReadCloser

	timeout *IdleTimeout
	cause   func(error) error
}

func (b *idleBody) Read(buffer []byte) (int, error) {
	n, err := b.ReadCloser.Read(buffer)
	b.timeout.note(n)
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.cause(err)
	}
	return n, err
}

func (b *idleBody) Close() error {
	b.timeout.Stop()
	return b.ReadCloser.Close()
}
