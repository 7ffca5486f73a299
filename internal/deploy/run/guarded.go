package run

import (
	"context"
	"fmt"

	"golang.org/x/sync/semaphore"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// guarded is a cluster whose panics are errors, and on which some operations are tried again (see
// retrying.go). A panic on one cluster must not end the process that works on all of them. guarded
// cannot catch a panic in a goroutine that a library started.
type guarded struct {
	next   Cluster
	name   string
	notify notifiers
	// slots are those of the runner. Every operation is called with one slot. It gives the slot
	// back while it pauses, so that a failing cluster does not delay the others.
	slots *semaphore.Weighted
}

// withGuard returns guarded clusters. A panic while a cluster is connected is an error, too.
func withGuard(clusters Clusters, slots *semaphore.Weighted, notify notifiers) Clusters {
	return func(name string) (cluster Cluster, err error) {
		defer panics.Recover("reading the connection of the cluster", &err)
		found, err := clusters(name)
		if err != nil {
			return nil, err
		}
		return guarded{next: found, name: name, notify: notify, slots: slots}, nil
	}
}

func (g guarded) Release(ctx context.Context, namespace, name string) (observed *release.Observed, err error) {
	defer panics.Recover(recoverTo("reading", namespace, name), &err)
	return g.next.Release(ctx, namespace, name)
}

func (g guarded) HasRecord(ctx context.Context, namespace, name string, revision int) (there bool, err error) {
	defer panics.Recover(recoverTo("reading", namespace, name), &err)
	return g.next.HasRecord(ctx, namespace, name, revision)
}

func (g guarded) Inspect(ctx context.Context, releases []release.Inspection) (findings []release.Finding, err error) {
	defer panics.Recover("reading the objects", &err)
	return g.next.Inspect(ctx, releases)
}

func (g guarded) Await(ctx context.Context, of release.Inspection) (finding release.Finding, err error) {
	defer panics.Recover("waiting for the objects", &err)
	return g.next.Await(ctx, of)
}

func (g guarded) Versions(ctx context.Context, references []target.Reference) (versions map[target.Reference]string, err error) {
	defer panics.Recover("reading the objects in helm.valuesFrom", &err)
	return g.next.Versions(ctx, references)
}

func (g guarded) Capabilities(ctx context.Context) (found target.Capabilities, err error) {
	defer panics.Recover("reading the capabilities of the cluster", &err)
	return g.next.Capabilities(ctx)
}

func (g guarded) Creator(ctx context.Context, observed release.Observed) (creator release.Creator, err error) {
	defer panics.Recover(recoverTo("reading the creator of", observed.Namespace, observed.Release), &err)
	return g.next.Creator(ctx, observed)
}

func (g guarded) Objects(ctx context.Context, releases []release.Observed) (objects [][]string, err error) {
	defer panics.Recover("reading release records", &err)
	return g.next.Objects(ctx, releases)
}

func recoverTo(doing, namespace, name string) string {
	return fmt.Sprintf("%s release %s in namespace %s", doing, name, namespace)
}
