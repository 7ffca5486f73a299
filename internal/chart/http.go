package chart

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

const (
	// maxIndex and maxArchive bound in bytes what is downloaded. To read an index
	// takes more than twenty times its size.
	maxIndex   = 32 << 20
	maxArchive = 256 << 20
)

// download is a file that was downloaded. It must be closed.
type download struct {
	*os.File
	size int64
}

// Close removes the file.
func (d download) Close() error {
	return errors.Join(d.File.Close(), os.Remove(d.Name()))
}

// get downloads what is under a URL, at most limit bytes, and compares it with a
// checksum. The error is a *FetchError.
func (f *Fetcher) get(ctx context.Context, address string, limit int64, sum checksum) (download, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return download{}, &FetchError{URL: shown(address), Reason: Malformed, Err: errors.New("it is no URL")}
	}
	response, err := f.client.Do(request)
	if err != nil {
		return download{}, explain(address, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return download{}, &FetchError{URL: shown(address), Reason: reasonOfStatus(response.StatusCode), Err: answered(response.StatusCode)}
	}
	return save(address, response.Body, limit, sum)
}

// save puts a body into a temporary file, which costs no memory however large it
// is.
func save(address string, body io.Reader, limit int64, sum checksum) (download, error) {
	file, err := os.CreateTemp("", "terraform-provider-fleet-*")
	if err != nil {
		return download{}, fmt.Errorf("fetching %s: making a temporary file: %w", shown(address), err)
	}
	saved := download{File: file}
	if saved.size, err = io.Copy(io.MultiWriter(file, sum), io.LimitReader(body, limit+1)); err != nil {
		err = explain(address, err)
	} else if saved.size > limit {
		err = &FetchError{URL: shown(address), Reason: TooLarge, Err: fmt.Errorf("more than %d MiB", limit>>20)}
	} else {
		err = sum.verify(address)
	}
	if err != nil {
		_ = saved.Close()
		return download{}, err
	}
	return saved, nil
}

var errStalled = errors.New("nothing arrived for too long")

// patient gives up a request when its server does not go on.
type patient struct {
	http.RoundTripper
	patience time.Duration
}

// RoundTrip is that of http.RoundTripper. The error, of the answer's body too, is
// errStalled after enough patience.
func (p patient) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(request.Context())
	over := &watch{patience: p.patience, cancel: cancel}
	over.timer = time.AfterFunc(p.patience, func() { cancel(errStalled) })
	over.stalled = func() bool { return errors.Is(context.Cause(ctx), errStalled) }
	response, err := p.RoundTripper.RoundTrip(request.WithContext(ctx))
	if err != nil {
		over.stop()
		return nil, over.explain(err)
	}
	response.Body = &watched{ReadCloser: response.Body, watch: over}
	return response, nil
}

// watch ends a request when nothing arrives for a while.
type watch struct {
	patience time.Duration
	timer    *time.Timer
	cancel   context.CancelCauseFunc
	stalled  func() bool
	arrived  int
}

func (w *watch) stop() {
	w.timer.Stop()
	w.cancel(nil)
}

func (w *watch) explain(err error) error {
	if w.stalled() {
		return fmt.Errorf("%w (%s)", errStalled, w.patience)
	}
	return err
}

// enough is how much must arrive to earn more patience, so that a server cannot go
// on forever by one byte now and then.
const enough = 16 << 10

func (w *watch) note(n int) {
	if w.arrived += n; w.arrived < enough {
		return
	}
	w.arrived = 0
	w.timer.Reset(w.patience)
}

// watched is the body of an answer.
type watched struct {
	io.ReadCloser
	watch *watch
}

func (b *watched) Read(buffer []byte) (int, error) {
	n, err := b.ReadCloser.Read(buffer)
	b.watch.note(n)
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.watch.explain(err)
	}
	return n, err
}

func (b *watched) Close() error {
	b.watch.stop()
	return b.ReadCloser.Close()
}
