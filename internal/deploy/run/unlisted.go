package run

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// maxRecordReads is how many records of one cluster are read by name at once.
const maxRecordReads = 8

const lookingUp = "looking up the release"

// confirmMissing checks a release that is in state and that a list of the cluster lacks. It returns
// nil if the release no longer exists. A list can be empty although releases exist, so the record
// is read by its name. Without a revision that the target wrote, only the list counts,
// until a refresh has read the release.
func confirmMissing(ctx context.Context, cluster RecordReader, known release.Known) error {
	if known.Revision == 0 {
		return nil
	}
	there, err := cluster.HasRecord(ctx, known.Namespace, known.Release, known.Revision)
	if err != nil {
		return err
	}
	if there {
		return &release.UnlistedError{Release: known.Release, Namespace: known.Namespace, Revision: known.Revision}
	}
	return nil
}

// findUnlisted reads the records of deployments whose releases a list lacks. A deployment is missing
// only if its record does not exist either.
func (r *Runner) findUnlisted(ctx context.Context, cluster RecordReader, keys []deploy.Key, found *observationBuilder) {
	if len(keys) == 0 {
		return
	}
	slot, err := r.acquire(ctx)
	if err != nil {
		found.keepUnreachable(deploy.Failure{Cluster: keys[0].Cluster, Doing: "reading the cluster", Err: err}, keys...)
		return
	}
	defer slot.Pause()
	var asking errgroup.Group
	asking.SetLimit(maxRecordReads)
	for _, key := range keys {
		asking.Go(func() error {
			panics.RecoveringTo(func(err error) {
				found.keepUnreachable(key.Failure(lookingUp, err), key)
			}, lookingUp, func() { found.confirmMissing(ctx, cluster, key) })()
			return nil
		})
	}
	_ = asking.Wait() // No function returns an error: failures are noted.
}

// confirmMissing notes a deployment as missing if its release no longer exists.
func (b *observationBuilder) confirmMissing(ctx context.Context, cluster RecordReader, key deploy.Key) {
	if err := confirmMissing(ctx, cluster, b.prior[key].Current()); err != nil {
		b.keepUnreachable(key.Failure(lookingUp, err), key)
		return
	}
	b.addMissing(key)
}
