package run

import (
	"context"
	"errors"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// withCreator adds the creator of the newest revision to a *release.ForeignError, if no target made
// it.
func withCreator(ctx context.Context, cluster RecordReader, observed *release.Observed, err error) error {
	foreign, ok := errors.AsType[*release.ForeignError](err)
	if !ok || foreign.Ownership.IsByTarget() {
		return err
	}
	named := *foreign
	named.Creator = creatorOf(ctx, cluster, *observed)
	return &named
}

// creatorOf returns who created the newest revision, without a name if that cannot be read.
func creatorOf(ctx context.Context, cluster RecordReader, observed release.Observed) release.Creator {
	creator, err := cluster.Creator(ctx, observed)
	if err != nil {
		return release.Creator{}
	}
	return creator
}
