package run

import (
	"context"
	"fmt"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// PanicError reports that an operation on a cluster ended in a panic.
type PanicError = panics.Error

// recovering is a cluster that returns panics as errors. A panic on one cluster must not end the
// process that works on all of them. recovering cannot catch a panic in a goroutine that a library
// started.
type recovering struct{ next Cluster }

// withRecovery returns clusters whose panics are errors. A panic while a cluster is connected is
// an error, too.
func withRecovery(clusters Clusters) Clusters {
	return func(name string) (cluster Cluster, err error) {
		defer panics.Recover("reading the connection of the cluster", &err)
		found, err := clusters(name)
		if err != nil {
			return nil, err
		}
		return recovering{next: found}, nil
	}
}

func (g recovering) Snapshot(ctx context.Context) (snapshot release.Snapshot, err error) {
	defer panics.Recover("listing the releases", &err)
	return g.next.Snapshot(ctx)
}

func (g recovering) Release(ctx context.Context, namespace, name string) (observed *release.Observed, err error) {
	defer panics.Recover(recoverTo("reading", namespace, name), &err)
	return g.next.Release(ctx, namespace, name)
}

func (g recovering) HasRecord(ctx context.Context, namespace, name string, revision int) (there bool, err error) {
	defer panics.Recover(recoverTo("reading", namespace, name), &err)
	return g.next.HasRecord(ctx, namespace, name, revision)
}

func (g recovering) Inspect(ctx context.Context, releases []release.Inspection) (findings []release.Finding, err error) {
	defer panics.Recover("reading the objects", &err)
	return g.next.Inspect(ctx, releases)
}

func (g recovering) Await(ctx context.Context, of release.Inspection) (finding release.Finding, err error) {
	defer panics.Recover("waiting for the objects", &err)
	return g.next.Await(ctx, of)
}

func (g recovering) Versions(ctx context.Context, references []target.Reference) (versions map[target.Reference]string, err error) {
	defer panics.Recover("reading the objects in helm.valuesFrom", &err)
	return g.next.Versions(ctx, references)
}

func (g recovering) Capabilities(ctx context.Context) (found target.Capabilities, err error) {
	defer panics.Recover("reading the capabilities of the cluster", &err)
	return g.next.Capabilities(ctx)
}

func (g recovering) Creator(ctx context.Context, observed release.Observed) (creator release.Creator, err error) {
	defer panics.Recover(recoverTo("reading the creator of", observed.Namespace, observed.Release), &err)
	return g.next.Creator(ctx, observed)
}

func (g recovering) Objects(ctx context.Context, releases []release.Observed) (objects [][]string, err error) {
	defer panics.Recover("reading release records", &err)
	return g.next.Objects(ctx, releases)
}

func (g recovering) Write(ctx context.Context, action release.Action, d target.Deployment, observed *release.Observed, w release.Write) (written release.Written, err error) {
	defer panics.Recover(recoverTo(action.Doing(), d.Namespace, d.Release), &err)
	return g.next.Write(ctx, action, d, observed, w)
}

func (g recovering) Uninstall(ctx context.Context, observed release.Observed, removal release.Removal) (removed release.Removed, err error) {
	defer panics.Recover(recoverTo("removing", observed.Namespace, observed.Release), &err)
	return g.next.Uninstall(ctx, observed, removal)
}

func recoverTo(doing, namespace, name string) string {
	return fmt.Sprintf("%s release %s in namespace %s", doing, name, namespace)
}
