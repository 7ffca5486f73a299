package run

import (
	"cmp"
	"maps"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/rollout"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// overlappingClusters returns the names of clusters under which an apply would overwrite releases of
// another name, as far as the identities of the clusters are known.
func (r Request) overlappingClusters(runs map[string]*clusterRun) [][]string {
	uids := maps.Clone(r.UIDs)
	if uids == nil {
		uids = map[string]string{}
	}
	for name, run := range runs {
		if uid := run.snapshot.snapshot.UID; uid != "" {
			uids[name] = uid
		}
	}
	wanted := slices.Clone(r.Write)
	for _, step := range r.Unchanged {
		wanted = append(wanted, step.Deployment)
	}
	overlapping, _ := deploy.SplitSame(deploy.SameClusters(uids), wanted)
	return overlapping
}

// writesToNewCluster reports whether something is written to a cluster that nobody has read before.
func (r Request) writesToNewCluster() bool {
	return slices.ContainsFunc(r.Write, func(d target.Deployment) bool { return r.UIDs[d.Cluster] == "" })
}

// Request is what one apply has to do. Deployments that are neither in Write nor in Remove are not
// touched.
type Request struct {
	deploy.TargetIdentity
	// Create reports that the target is not in a state yet. Then releases with its owner and name
	// are not its own, and nothing is written while any of them exist.
	Create bool
	// Write are the deployments to install, upgrade or adopt. One that is unpinned
	// is pinned to the versions of the objects that its values come from.
	Write []target.Deployment
	// Blocked are deployments in Write and Remove that must not be written or removed, each with
	// the reason. They fail, and so do removals of what they depend on.
	Blocked map[deploy.Key]error
	// Planned are the objects that the plan showed for deployments in Write, where it showed
	// any. An existing release that has other objects is written again.
	Planned map[deploy.Key]map[string]string
	// Ready are deployments in Write that the plan shows as ready after the apply. One that is
	// not is a failure.
	Ready map[deploy.Key]bool
	// Wants are the objects of deployments in Write, as far as they are known before the apply.
	// They determine which objects move from one bundle to another, see Change.
	Wants map[deploy.Key]map[string]string
	// Unchanged are the other wanted deployments, which are as wanted or held. They are not
	// written, but other deployments can depend on them and share a rollout with them.
	Unchanged []rollout.Step
	// Order is the order that the plan shows. It is reported, and decides nothing.
	Order []rollout.Stage
	// Remove are the deployments to uninstall, and Needs the bundles that each bundle
	// depends on, which are removed after it.
	Remove []deploy.Key
	Needs  map[string][]string
	// Counts are those of the change. They are shown, and decide nothing.
	Counts status.Changes
	// Prior are the records of deployments from before the request. Missing are deployments that a
	// refresh did not find any more.
	Prior   map[deploy.Key]deploy.Record
	Missing map[deploy.Key]release.Known
	// Keep are deployments in Prior that stay as they are. UIDs are the identities that the
	// clusters had when the change was planned, as far as they are known. Nothing is written to a
	// cluster with another UID. Two names can refer to one cluster. What one name keeps is not
	// removed under the other name.
	Keep     []deploy.Key
	UIDs     map[string]string
	Settings Settings
	// Policies check what is written, nil if there are none.
	Policies deploy.Policies
	// Keys returns the keys of all targets of this process, nil for none. A removal leaves what one
	// of them has taken over.
	Keys func() []string
}

// identity returns what distinguishes one cluster from another: its UID, or its name when the UID
// is not known.
func (r Request) identity(cluster string, snapshots map[string]clusterSnapshot) string {
	return cmp.Or(snapshots[cluster].snapshot.UID, r.UIDs[cluster], cluster)
}

// claims returns the releases that each cluster is to have, by the identity of the cluster and by
// release.Key. None of them is removed, even if another deployment had it before: a bundle or a
// cluster can get another name while the release keeps its own.
func (r Request) claims(snapshots map[string]clusterSnapshot) map[string]map[string]bool {
	claims := map[string]map[string]bool{}
	claim := func(cluster, namespace, name string) {
		identity := r.identity(cluster, snapshots)
		if claims[identity] == nil {
			claims[identity] = map[string]bool{}
		}
		claims[identity][release.Key(namespace, name)] = true
	}
	for _, d := range r.Write {
		claim(d.Cluster, d.Namespace, d.Release)
	}
	for _, key := range r.Keep {
		claim(key.Cluster, r.Prior[key].Namespace, r.Prior[key].Release)
	}
	return claims
}

// steps returns all wanted deployments, those to be written first.
func (r Request) steps() []rollout.Step {
	steps := make([]rollout.Step, 0, len(r.Write)+len(r.Unchanged))
	for _, d := range r.Write {
		steps = append(steps, rollout.Step{Deployment: d, State: string(r.Prior[deploy.KeyOf(d)].State), Change: true})
	}
	return append(steps, r.Unchanged...)
}

// checkIdentity returns an error for a cluster that is not the planned one.
func (r Request) checkIdentity(cluster, uid string) error {
	want := r.UIDs[cluster]
	if want == "" || want == uid {
		return nil
	}
	return &deploy.OtherClusterError{Cluster: cluster, Want: want, Got: uid}
}

// existingOn returns the existing releases of a target on the clusters that were read, sorted by
// cluster. A release that a deployment may take over is left out.
func (r Request) existingOn(runs map[string]*clusterRun) []deploy.Existing {
	var found []deploy.Existing
	taken := r.Settings.Consent.Releases(r.Write)
	for _, cluster := range slices.Sorted(maps.Keys(runs)) {
		for _, observed := range r.Existing(runs[cluster].snapshot.snapshot) {
			if taken[deploy.ReleaseOn(cluster, observed.Namespace, observed.Release)] {
				continue
			}
			found = append(found, deploy.Existing{Cluster: cluster, Observed: observed})
		}
	}
	return found
}
