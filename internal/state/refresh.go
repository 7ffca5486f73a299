package state

import (
	"errors"
	"maps"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube/connect"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Refresh is what a refresh found.
type Refresh struct {
	Records     map[deploy.Key]deploy.Record
	Observation deploy.Observation
	Versions    map[string]deploy.Versions
	// Entry returns what the provider's configuration has of a cluster.
	Entry func(cluster string) (Entry, connect.Connection)
	// ShowsObjects is true if the state shows objects.
	ShowsObjects bool
}

// Refreshed returns private state after a refresh, without capabilities, and the clusters that
// have another identity than before.
func (p Private) Refreshed(found Refresh) (after Private, replaced []string) {
	p.ClusterUIDs, replaced = MergeUIDs(p.ClusterUIDs, found.Observation.UIDs)
	p.Connections = MergeConnections(p.Connections, found.Records, found.Entry)
	p.ObjectVersions = p.ObjectVersions.Refreshed(found.Versions)
	p.DriftState = DriftStateOf(found.Observation.Records, found.ShowsObjects)
	p.Orphans = MergeOrphans(p.Orphans, found.Observation)
	return p, replaced
}

// KeepUnreachable moves missing releases on clusters that did not respond from the records of an
// observation back to its missing releases: the observation did not show whether they exist.
func (m MissingReleases) KeepUnreachable(in deploy.Observation) {
	for key, known := range m {
		if _, answered := in.UIDs[key.Cluster]; !answered {
			delete(in.Records, key)
			in.Missing[key] = known
		}
	}
}

// Apply is what an apply did.
type Apply struct {
	Change  plan.Change
	Outcome deploy.Outcome
	Wanted  []target.Deployment
	// Records are all records after the apply.
	Records map[deploy.Key]deploy.Record
	// Entry and ShowsObjects are as in Refresh.
	Entry        func(cluster string) (Entry, connect.Connection)
	ShowsObjects bool
}

// Applied returns private state after an apply, without capabilities.
func (p Private) Applied(done Apply) Private {
	p.ObjectVersions = p.ObjectVersions.Applied(done.Outcome.Versions, done.Wanted)
	p.Needs = MergeNeeds(p.Needs, done.Change.Needs, done.stillDeployed())
	p.DriftState = DriftStateOf(done.Records, done.ShowsObjects)
	p.Connections = MergeConnections(p.Connections, done.Records, done.Entry)
	p.Unpredicted = done.unpredicted(p.Unpredicted)
	return p
}

// unpredicted returns the digests of wanted deployments that an apply found to be unpredictable, now or
// before.
func (a Apply) unpredicted(before map[string]string) map[string]string {
	wrong := map[deploy.Key]bool{}
	for _, failure := range a.Outcome.Failures {
		if errors.Is(failure.Err, release.ErrOtherObjects) || errors.Is(failure.Err, release.ErrUnplannedObjects) {
			wrong[deploy.Key{Cluster: failure.Cluster, Bundle: failure.Bundle}] = true
		}
	}
	var found map[string]string
	for _, d := range a.Wanted {
		key := deploy.KeyOf(d)
		if !wrong[key] && before[key.String()] != d.Digest {
			continue
		}
		if found == nil {
			found = map[string]string{}
		}
		found[key.String()] = d.Digest
	}
	return found
}

// UnpredictedDigests returns the digests by deployment.
func (p Private) UnpredictedDigests() map[deploy.Key]string {
	digests := make(map[deploy.Key]string, len(p.Unpredicted))
	for name, digest := range p.Unpredicted {
		digests[keyOf(name)] = digest
	}
	return digests
}

// stillDeployed returns the records of the deployments that an apply wrote or removed. It includes
// the deployments whose removal a window held.
func (a Apply) stillDeployed() map[deploy.Key]deploy.Record {
	held := a.Change.HeldRemovals()
	if len(held) == 0 {
		return a.Outcome.Records
	}
	records := maps.Clone(a.Outcome.Records)
	for _, key := range held {
		records[key] = a.Records[key]
	}
	return records
}

// MergeNeeds returns the order of all bundles that are wanted or still deployed. wanted are the
// bundles that each wanted bundle is deployed after.
func MergeNeeds(known, wanted map[string][]string, records map[deploy.Key]deploy.Record) map[string][]string {
	merged := map[string][]string{}
	maps.Copy(merged, wanted)
	for key := range records {
		if _, ok := wanted[key.Bundle]; !ok && len(known[key.Bundle]) > 0 {
			merged[key.Bundle] = known[key.Bundle]
		}
	}
	return merged
}

// MergeOrphans returns the orphans after a refresh. Orphans are replaced only if the refresh saw
// all clusters: only then is a missing orphan really removed. Orphans in namespaces that were not
// listed stay.
func MergeOrphans(known []deploy.Orphan, observation deploy.Observation) []deploy.Orphan {
	if !observation.AllSeen {
		return known
	}
	var merged []deploy.Orphan
	for _, orphan := range known {
		if listed := observation.Listed[orphan.Cluster]; len(listed) > 0 && !slices.Contains(listed, orphan.Namespace) {
			merged = append(merged, orphan)
		}
	}
	return append(merged, observation.Orphans...)
}
