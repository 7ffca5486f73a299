package git

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fetch"
)

// lateWire gets the refs when the time for them is over, which has closed the connection.
type lateWire struct{}

func (lateWire) advertise(ctx context.Context, _ *fetch.IdleTimeout) (*packp.AdvRefs, error) {
	<-ctx.Done()
	refs := packp.NewAdvRefs()
	return refs, refs.AddReference(plumbing.NewHashReference("refs/heads/main", plumbing.NewHash("1234567890123456789012345678901234567890")))
}

func (lateWire) ask(context.Context, []byte) (io.ReadCloser, error) { return nil, io.EOF }

func (lateWire) close() {}

// The next request over such a connection would fail with EOF, which does not tell the reason.
func TestRefsAfterTimeout(t *testing.T) {
	t.Parallel()
	ctx, life := fetch.WithIdleTimeout(t.Context(), time.Millisecond, anyByte)
	defer life.Stop()
	s := &session{wire: lateWire{}}
	if _, err := s.advertised(ctx, life); !isA[*TimeoutError](err) {
		t.Errorf("error = %v, want a TimeoutError", err)
	}
}
