package deploy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// TargetIdentity identifies the target whose deployments are read.
type TargetIdentity struct {
	Owner, Target, Instance string
	// AdoptionKey is a hash of the target's adoption key, "" if it has none.
	AdoptionKey string
	// Key proves which release records the target wrote; see release.RecordKey.
	Key string
}

// mark returns the mark that the target writes on the record of a bundle's release.
func (h TargetIdentity) mark(bundle, digest string) release.Mark {
	mark := release.NewMark(h.Owner, h.Target, h.Instance, bundle, digest)
	mark.AdoptionKey = h.AdoptionKey
	return mark
}

// claimant returns the target in relation to a release. uid is the identity of the cluster as it
// was read, and known is what state has of the release, nil for nothing.
func (h TargetIdentity) claimant(bundle, digest, uid string, known *release.Known) release.Claimant {
	if known != nil {
		uid = cmp.Or(uid, known.UID)
	}
	return release.Claimant{Mark: h.mark(bundle, digest), Proof: release.Proof{Key: h.Key, UID: uid}, Known: known}
}

// existing returns releases with the owner and the name of the target that are in no state of the
// target, sorted. A release with its adoption key is its own.
func (h TargetIdentity) existing(snapshot release.Snapshot) []release.Observed {
	return snapshot.Owned(h.claimant("", "", snapshot.UID, nil), release.SameName)
}

// OtherClusterError reports that a connection leads to another cluster than the planned one.
type OtherClusterError struct {
	Cluster string
	// Want and Got are UIDs of the namespace kube-system. Got is "" if the cluster does not return
	// it.
	Want, Got string
}

func (e *OtherClusterError) Error() string {
	if e.Got == "" {
		return fmt.Sprintf("the cluster does not return the UID of its namespace kube-system, which has to be %s", e.Want)
	}
	return fmt.Sprintf("the connection reaches another cluster: the UID of its namespace kube-system is %s, and has to be %s", e.Got, e.Want)
}

// checkIdentity returns an error for a cluster that is not the planned one.
func (r Request) checkIdentity(cluster, uid string) error {
	want := r.UIDs[cluster]
	if want == "" || want == uid {
		return nil
	}
	return &OtherClusterError{Cluster: cluster, Want: want, Got: uid}
}

// existingOn returns the existing releases of a target on the clusters that were read, sorted by
// cluster. A release that a deployment may take over is left out.
func (r Request) existingOn(runs map[string]*clusterRun) []Existing {
	var found []Existing
	taken := r.Settings.Consent.releases(r.Write)
	for _, cluster := range slices.Sorted(maps.Keys(runs)) {
		for _, observed := range r.existing(runs[cluster].snapshot.snapshot) {
			if taken[releaseOn(cluster, observed.Namespace, observed.Release)] {
				continue
			}
			found = append(found, Existing{Cluster: cluster, Observed: observed})
		}
	}
	return found
}

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

// Orphan is a release that a target wrote and whose state does not have the release, such as after a
// killed apply.
type Orphan struct {
	Cluster   string
	Release   string
	Namespace string
	// Objects are the keys of the objects that the record of the release names. If there are many,
	// it has some of them.
	Objects []string
}

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
func stored(prior map[Key]Record) map[releaseID]bool {
	known := map[releaseID]bool{}
	for _, record := range prior {
		for _, of := range record.all() {
			known[releaseID{record.Known.UID, release.Key(of.Namespace, of.Release)}] = true
		}
	}
	return known
}

// unstored returns the releases of this instance on a cluster that are not stored, sorted by
// namespace and name. One cluster can have many names, each with all of its releases. So only
// these releases of a snapshot are kept until all clusters have been read.
func (h TargetIdentity) unstored(stored map[releaseID]bool, snapshot release.Snapshot) []release.Observed {
	left := map[string]release.Observed{}
	for key, observed := range snapshot.Releases {
		if !stored[releaseID{snapshot.UID, key}] {
			left[key] = observed
		}
	}
	return release.Snapshot{Releases: left}.Owned(h.claimant("", "", snapshot.UID, nil), release.Self)
}

// orphans returns those of the unstored releases that the state does not have, by cluster. It
// returns nothing while the UID of any cluster of the state is not known: two names can refer to
// one cluster.
func orphans(prior map[Key]Record, uids map[string]string, unstored map[string][]release.Observed) (found map[string][]release.Observed, conclusive bool) {
	known := map[releaseID]bool{}
	for key, record := range prior {
		uid := uids[key.Cluster]
		if uid == "" {
			return nil, false
		}
		for _, of := range record.all() {
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
func (e *Engine) readOrphans(ctx context.Context, found map[string][]release.Observed) []Orphan {
	ctx, cancel := context.WithTimeout(ctx, orphansTimeout)
	defer cancel()
	var orphans []Orphan
	for _, name := range slices.Sorted(maps.Keys(found)) {
		cluster, err := e.clusters(name)
		for _, observed := range found[name] {
			orphan := Orphan{Cluster: name, Release: observed.Release, Namespace: observed.Namespace}
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
