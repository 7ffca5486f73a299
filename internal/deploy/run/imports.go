package run

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// ParseImportID returns the name of a target and the clusters to import from: "prod" or
// "prod/eu-1,eu-2". An id without clusters means all clusters.
func ParseImportID(id string) (name string, clusters []string, err error) {
	name, list, some := strings.Cut(id, "/")
	if some {
		clusters = strings.Split(list, ",")
	}
	if name == "" || slices.Contains(clusters, "") {
		return "", nil, errors.New("an import id is the name of a target, optionally followed by clusters, such as prod/eu-1,eu-2")
	}
	return name, clusters, nil
}

// RecordLister reads the release records of one cluster.
type RecordLister interface {
	// Snapshot lists the releases.
	Snapshot(ctx context.Context) (release.Snapshot, error)
	// StoredRenderings returns the stored renderings of releases, in their order.
	StoredRenderings(ctx context.Context, observed []release.Observed) ([]release.Rendering, error)
}

// Imported are the releases that carry the owner and the name of a target.
type Imported struct {
	Records map[deploy.Key]deploy.Record
	// Failures are the clusters that could not be read. Their deployments would be in no state, so
	// nothing is imported then.
	Failures []deploy.Failure

	// Key is the key with which the target continues.
	Key string

	mu    sync.Mutex
	uids  map[string]string // a cluster by its identity
	marks map[deploy.Key]release.Mark
}

// NewImported returns what is imported of a target of an owner: nothing yet.
func NewImported(owner string) *Imported {
	return &Imported{
		Key: release.RecordKey(owner, "", nil), Records: map[deploy.Key]deploy.Record{},
		uids: map[string]string{}, marks: map[deploy.Key]release.Mark{},
	}
}

// Import reads the releases of a target on clusters, on at most parallelism at once.
func Import(
	ctx context.Context, owner, name string, clusters []string, parallelism int, connect func(cluster string) (RecordLister, error),
) *Imported {
	found := NewImported(owner)
	const doing = "reading the cluster"
	var reading errgroup.Group
	reading.SetLimit(max(1, parallelism))
	for _, cluster := range clusters {
		reading.Go(func() error {
			if err := panics.Recovering(doing, func() error { return found.read(ctx, cluster, owner, name, connect) })(); err != nil {
				found.addFailure(deploy.Failure{Cluster: cluster, Doing: doing, Err: err})
			}
			return nil
		})
	}
	_ = reading.Wait() // Failures are collected.
	return found
}

// read adds the releases that a target has on one cluster.
func (i *Imported) read(ctx context.Context, cluster, owner, target string, connect func(cluster string) (RecordLister, error)) error {
	client, err := connect(cluster)
	if err != nil {
		return err
	}
	snapshot, err := client.Snapshot(ctx)
	if err != nil {
		return err
	}
	if err := snapshot.CheckListed(); err != nil {
		return err // Its releases would be in no state.
	}
	observed := snapshot.OfTarget(owner, target)
	renderings, err := client.StoredRenderings(ctx, observed)
	if err != nil {
		return err
	}
	i.add(cluster, snapshot.UID, observed, renderings)
	return nil
}

func (i *Imported) addFailure(failure deploy.Failure) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.Failures = append(i.Failures, failure)
}

// add notes the releases of a cluster. Two entries can refer to one cluster. Its deployments then
// use the name that is first in alphabetical order.
func (i *Imported) add(cluster, uid string, observed []release.Observed, renderings []release.Rendering) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if other, twice := i.uids[uid]; twice && uid != "" {
		if other < cluster {
			return
		}
		maps.DeleteFunc(i.Records, func(key deploy.Key, _ deploy.Record) bool { return key.Cluster == other })
		maps.DeleteFunc(i.marks, func(key deploy.Key, _ release.Mark) bool { return key.Cluster == other })
	}
	i.uids[uid] = cluster
	for n, there := range observed {
		record := deploy.Record{
			Release: there.Release, Namespace: there.Namespace, Chart: renderings[n].Chart, Version: renderings[n].Version,
			Digest: there.Mark.Digest, State: status.Ready, Objects: renderings[n].Hashes(), // A refresh follows.
		}
		record.Counts = status.Counts{Ready: len(record.Objects)}
		// The content is not trusted: it is unknown who wrote the record. The key is for the next
		// revisions.
		record.Known = release.Known{
			Release: there.Release, Namespace: there.Namespace, UID: uid, Instance: there.Mark.Instance, Digest: there.Mark.Digest,
			UninstallPolicy: there.Mark.UninstallPolicy, Revision: there.Revision, Key: i.Key, Imported: true,
		}
		i.Add(cluster, record, there.Mark)
	}
}

// Add notes a release of the target. mark is what it or its Bundle is marked with.
func (i *Imported) Add(cluster string, record deploy.Record, mark release.Mark) {
	key := deploy.Key{Cluster: cluster, Bundle: mark.Bundle}
	if first, twice := i.Records[key]; twice { // Only one of the releases is that of the deployment.
		first.Leftovers = append(first.Leftovers, record.Known)
		i.Records[key] = first
		return
	}
	i.Records[key], i.marks[key] = record, mark
}

// Instance returns the id under which the target continues: the one that most of its releases
// carry, "" if there are none.
func (i *Imported) Instance() string {
	releases := map[string]int{}
	for _, mark := range i.marks {
		releases[mark.Instance]++
	}
	ids := slices.SortedFunc(maps.Keys(releases), func(a, b string) int {
		return cmp.Or(cmp.Compare(releases[b], releases[a]), cmp.Compare(a, b))
	})
	if len(ids) == 0 {
		return ""
	}
	return ids[0]
}

// Deployments returns the names of all deployments, and of those with another instance than
// Instance returns.
func (i *Imported) Deployments() (all, others []string) {
	id := i.Instance()
	for key, mark := range i.marks {
		all = append(all, key.String())
		if mark.Instance != id {
			others = append(others, key.String())
		}
	}
	slices.Sort(all)
	slices.Sort(others)
	return all, others
}
