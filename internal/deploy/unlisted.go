package deploy

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// recordsAtOnce is how many records of one cluster are asked for by name at once.
const recordsAtOnce = 8

// confirmGone returns nil if a release is gone that state knows and that a list of the
// cluster lacks. A list can be empty for other reasons than that there is nothing, so the
// record is asked for by its name. A state of an earlier version names no revision: then
// the list is all there is to go by, until a refresh has seen the release.
func confirmGone(ctx context.Context, cluster RecordReader, known release.Known) error {
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

// lookForUnlisted asks for the records of deployments whose releases a list lacks. Only
// those that are not there either are lost.
func (e *Engine) lookForUnlisted(ctx context.Context, cluster RecordReader, keys []Key, found *sightings) {
	if len(keys) == 0 {
		return
	}
	slot, err := e.slot(ctx)
	if err != nil {
		found.unseen(Failure{Cluster: keys[0].Cluster, Doing: "reading the cluster", Err: err}, keys...)
		return
	}
	defer slot.Pause()
	var asking errgroup.Group
	asking.SetLimit(recordsAtOnce)
	for _, key := range keys {
		asking.Go(func() error {
			status.RecoveringTo(func(err error) {
				found.unseen(Failure{Cluster: key.Cluster, Bundle: key.Bundle, Doing: "looking up the release", Err: err}, key)
			}, "looking up the release", func() { found.confirm(ctx, cluster, key) })()
			return nil
		})
	}
	_ = asking.Wait() // Nobody fails: failures are noted.
}

// confirm notes a deployment as lost if its release is gone.
func (s *sightings) confirm(ctx context.Context, cluster RecordReader, key Key) {
	if err := confirmGone(ctx, cluster, s.prior[key].current()); err != nil {
		s.unseen(Failure{Cluster: key.Cluster, Bundle: key.Bundle, Doing: "looking up the release", Err: err}, key)
		return
	}
	s.lost(key)
}
