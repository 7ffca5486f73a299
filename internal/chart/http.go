package chart

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
)

const (
	// maxIndex and maxArchive are how many bytes are downloaded at most. Reading an index takes
	// more than twenty times its size in memory.
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

// get downloads the content of a URL, at most limit bytes, and compares it with a checksum. The
// error is a *FetchError.
func (f *Fetcher) get(ctx context.Context, address string, limit int64, sum checksum) (download, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return download{}, &FetchError{URL: shown(address), Reason: Malformed, Err: errors.New("it is not a valid URL")}
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

// save writes a body to a temporary file, so that a large body takes no memory.
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
