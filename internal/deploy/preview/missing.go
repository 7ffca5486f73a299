package preview

import (
	"context"
	"maps"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/rollout"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// MissingValues returns the objects in helm.valuesFrom that do not exist on the clusters of
// deployments to be written. It returns them with the sorted keys of those deployments. A refresh
// has read most of these objects; known is its result. The others are read now.
func (p *Preview) MissingValues(ctx context.Context, planned *plan.Plan, known map[string]deploy.Versions) map[string][]string {
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	found := p.Runner.Versions(ctx, p.unseenValues(planned.Write, known)) // Without such objects no request is sent.
	missing := map[string][]string{}
	for _, d := range planned.Write {
		for _, reference := range d.References() {
			version, ok := known[d.Cluster][reference]
			if !ok {
				version, ok = found[d.Cluster][reference]
			}
			if ok && version == "" {
				missing[reference.String()] = append(missing[reference.String()], d.Key())
			}
		}
	}
	for _, keys := range missing {
		slices.Sort(keys)
	}
	return missing
}

// unseenValues returns the objects that no refresh has read, by cluster.
func (p *Preview) unseenValues(write []target.Deployment, known map[string]deploy.Versions) map[string][]target.Reference {
	unseen := map[string][]target.Reference{}
	for _, d := range write {
		for _, reference := range d.References() {
			_, ok := known[d.Cluster][reference]
			if !ok && p.readsClusterOf(d) && !slices.Contains(unseen[d.Cluster], reference) {
				unseen[d.Cluster] = append(unseen[d.Cluster], reference)
			}
		}
	}
	return unseen
}

// MissingDependencies returns deployments to be written whose dependencies are missing: this
// target does not deploy them, and they are not on the cluster. mayDeploy reports whether another
// target of the plan deploys a bundle. Only on a cluster that responds can a bundle be missing.
func (p *Preview) MissingDependencies(
	ctx context.Context, planned *plan.Plan, bundles []*bundle.Bundle, mayDeploy func(deploy.Key) bool,
) []deploy.Failure {
	missing, clusters := map[deploy.Key][]rollout.ExternalDependency{}, map[string]bool{}
	for key, external := range planned.External {
		for _, needed := range external {
			if !mayDeploy(deploy.Key{Cluster: key.Cluster, Bundle: needed.Bundle}) {
				missing[key] = append(missing[key], needed)
				clusters[key.Cluster] = p.Connectable(key.Cluster)
			}
		}
	}
	maps.DeleteFunc(clusters, func(_ string, askable bool) bool { return !askable })
	if len(clusters) == 0 || p.OwnerUnknown {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	snapshots := p.Runner.Snapshots(ctx, slices.Collect(maps.Keys(clusters)))
	var failures []deploy.Failure
	for _, d := range planned.Write {
		snapshot, answered := snapshots[d.Cluster]
		for _, needed := range missing[deploy.KeyOf(d)] {
			leaves := slices.Contains(planned.Remove, deploy.Key{Cluster: d.Cluster, Bundle: needed.Bundle})
			if answered && (leaves || len(snapshot.Of(p.Owner, needed.Bundle)) == 0 && snapshot.CheckComplete() == nil) {
				err := &rollout.MissingDependencyError{Bundle: needed.Bundle, Suggestion: rollout.Nearest(needed.Bundle, bundles)}
				failures = append(failures, deploy.Failure{Cluster: d.Cluster, Bundle: d.Bundle.Name, Err: err})
			}
		}
	}
	return failures
}
