package run

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// A user who may write Secrets can replace the content of records by others of any size. So few
// orphans are listed for each cluster. Their objects are read one after the other, and only for a
// short time.
const (
	maxOrphansListed = 50
	maxObjectsListed = 20
	orphansTimeout   = 10 * time.Second
)

// releaseID identifies a release by the UID of its cluster, independent of the name of the cluster
// in clusters.
type releaseID struct{ uid, key string }

// stored returns the releases in state, by the UID of their clusters.
func stored(prior map[deploy.Key]deploy.Record) map[releaseID]bool {
	known := map[releaseID]bool{}
	for _, record := range prior {
		for _, of := range record.Releases() {
			known[releaseID{record.Known.UID, release.Key(of.Namespace, of.Release)}] = true
		}
	}
	return known
}

// unstored returns the releases of an instance on a cluster that are not stored, sorted by
// namespace and name. One cluster can have many names, each with all of its releases. So only
// these releases of a snapshot are kept until all clusters have been read.
func unstored(identity deploy.TargetIdentity, stored map[releaseID]bool, snapshot release.Snapshot) []release.Observed {
	left := map[string]release.Observed{}
	for key, observed := range snapshot.Releases {
		if !stored[releaseID{snapshot.UID, key}] {
			left[key] = observed
		}
	}
	return release.Snapshot{Releases: left}.Owned(identity.Claimant("", "", snapshot.UID, nil), release.Self)
}

// orphans returns those of the unstored releases that the state does not have, by cluster. It
// returns nothing while the UID of any cluster of the state is not known: two names can refer to
// one cluster.
func orphans(
	prior map[deploy.Key]deploy.Record, uids map[string]string, unstored map[string][]release.Observed,
) (found map[string][]release.Observed, conclusive bool) {
	known := map[releaseID]bool{}
	for key, record := range prior {
		uid := uids[key.Cluster]
		if uid == "" {
			return nil, false
		}
		for _, of := range record.Releases() {
			known[releaseID{uid, release.Key(of.Namespace, of.Release)}] = true
		}
	}
	found = map[string][]release.Observed{}
	for _, cluster := range slices.Sorted(maps.Keys(unstored)) {
		for _, observed := range unstored[cluster] {
			at := releaseID{uids[cluster], release.Key(observed.Namespace, observed.Release)}
			if known[at] || len(found[cluster]) == maxOrphansListed {
				continue
			}
			known[at] = true
			found[cluster] = append(found[cluster], observed)
		}
	}
	return found, true
}

// readOrphans reads the objects of orphans. An orphan has no objects if its record cannot be read,
// or not in time.
func (r *Runner) readOrphans(ctx context.Context, found map[string][]release.Observed) []deploy.Orphan {
	ctx, cancel := context.WithTimeout(ctx, orphansTimeout)
	defer cancel()
	var orphans []deploy.Orphan
	for _, name := range slices.Sorted(maps.Keys(found)) {
		cluster, err := r.clusters(name)
		for _, observed := range found[name] {
			orphan := deploy.Orphan{Cluster: name, Release: observed.Release, Namespace: observed.Namespace}
			if err == nil && ctx.Err() == nil {
				orphan.Objects = objectsOf(ctx, cluster, observed)
			}
			orphans = append(orphans, orphan)
		}
	}
	return orphans
}

func objectsOf(ctx context.Context, cluster RecordReader, observed release.Observed) []string {
	read, err := cluster.Objects(ctx, []release.Observed{observed})
	if err != nil || len(read) == 0 {
		return nil
	}
	objects := read[0]
	if more := len(objects) - maxObjectsListed; more > 0 {
		return append(objects[:maxObjectsListed:maxObjectsListed], fmt.Sprintf("%d more", more))
	}
	return objects
}
