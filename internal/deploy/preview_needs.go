package deploy

import (
	"context"
	"maps"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/rollout"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// MissingValues returns the objects named in helm.valuesFrom that are not on the clusters of
// deployments to be written, with the keys of those deployments, sorted. A refresh has looked
// at most of them; known is what it found. The others are looked at now.
func (p *Preview) MissingValues(ctx context.Context, plan *Plan, known map[string]Versions) map[string][]string {
	ctx, cancel := context.WithTimeout(ctx, previewTimeout)
	defer cancel()
	found := p.Engine.Versions(ctx, p.unseenValues(plan.Write, known)) // Without any nobody is asked.
	missing := map[string][]string{}
	for _, d := range plan.Write {
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

// unseenValues are the objects that no refresh has looked at, by cluster.
func (p *Preview) unseenValues(write []target.Deployment, known map[string]Versions) map[string][]target.Reference {
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

// MissingDependencies returns deployments to be written that depend on bundles which this
// target does not deploy and which are not there. mayDeploy reports whether another target
// of the plan deploys a bundle. Only a cluster that answers can be found to lack something.
func (p *Preview) MissingDependencies(ctx context.Context, plan *Plan, bundles []*bundle.Bundle, mayDeploy func(Key) bool) []Failure {
	missing, clusters := map[Key][]rollout.ExternalDependency{}, map[string]bool{}
	for key, external := range plan.External {
		for _, needed := range external {
			if !mayDeploy(Key{Cluster: key.Cluster, Bundle: needed.Bundle}) {
				missing[key] = append(missing[key], needed)
				clusters[key.Cluster] = p.Connectable(key.Cluster)
			}
		}
	}
	maps.DeleteFunc(clusters, func(_ string, askable bool) bool { return !askable })
	if len(clusters) == 0 || p.OwnerUnknown {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, previewTimeout)
	defer cancel()
	snapshots := p.Engine.Snapshots(ctx, slices.Collect(maps.Keys(clusters)))
	var failures []Failure
	for _, d := range plan.Write {
		snapshot, answered := snapshots[d.Cluster]
		for _, needed := range missing[KeyOf(d)] {
			leaves := slices.Contains(plan.Remove, Key{Cluster: d.Cluster, Bundle: needed.Bundle})
			if answered && (leaves || len(snapshot.Of(p.Owner, needed.Bundle)) == 0) {
				err := &rollout.MissingDependencyError{Bundle: needed.Bundle, Suggestion: rollout.Nearest(needed.Bundle, bundles)}
				failures = append(failures, Failure{Cluster: d.Cluster, Bundle: d.Bundle.Name, Err: err})
			}
		}
	}
	return failures
}

// UnwantedOrphans returns the releases that the state does not know and that no deployment is
// to have. One that is wanted is taken up by the apply.
func UnwantedOrphans(orphans []Orphan, wanted []target.Deployment) []Orphan {
	isWanted := map[string]bool{}
	for _, d := range wanted {
		isWanted[d.Cluster+" "+release.Key(d.Namespace, d.Release)] = true
	}
	return slices.DeleteFunc(slices.Clone(orphans), func(o Orphan) bool {
		return isWanted[o.Cluster+" "+release.Key(o.Namespace, o.Release)]
	})
}
