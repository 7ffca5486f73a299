package chart

import (
	"context"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
)

// archiveReader limits how many archives and indexes are in memory at a time.
type archiveReader struct{ reading chan struct{} }

// read returns the chart in a downloaded archive, and removes the download.
func (a archiveReader) read(ctx context.Context, saved download, at bundle.Location) ([]bundle.File, error) {
	defer func() { _ = saved.Close() }()
	done, err := a.begin(ctx, at.URL)
	if err != nil {
		return nil, err
	}
	defer done()
	files, err := extract(saved, saved.size, at.Format, at.Subdirectory)
	if err != nil {
		return nil, &FetchError{URL: shown(at.URL), Reason: Malformed, Err: err}
	}
	return files, nil
}

// begin waits until there is memory for an archive or index. done releases the memory.
func (a archiveReader) begin(ctx context.Context, address string) (done func(), err error) {
	select {
	case <-ctx.Done():
		return nil, cancelled(ctx, "reading "+shown(address))
	case a.reading <- struct{}{}:
		return func() { <-a.reading }, nil
	}
}
