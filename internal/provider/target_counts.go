package provider

import (
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// count is one of the numbers of resource_counts.
type count struct {
	name, description string
	of                func(status.Counts) int
}

func countsShown() []count {
	return []count{
		{"desired_ready", "Objects there should be.", status.Counts.Desired},
		{"ready", "As they were deployed, and ready.", func(c status.Counts) int { return c.Ready }},
		{"not_ready", "As they were deployed, and not ready.", func(c status.Counts) int { return c.NotReady }},
		{"modified", "Not as they were deployed.", func(c status.Counts) int { return c.Modified }},
		{"missing", "Deployed, and not there.", func(c status.Counts) int { return c.Missing }},
		{"not_owned", "There, and held by another release; they count in none of the others.", func(c status.Counts) int { return c.NotOwned }},
		{"unknown", "Not looked at, for lack of rights or because the deployment failed.", func(c status.Counts) int { return c.Unknown }},
	}
}

func countsType() types.ObjectType {
	made := map[string]attr.Type{}
	for _, shown := range countsShown() {
		made[shown.name] = types.Int64Type
	}
	return types.ObjectType{AttrTypes: made}
}

func countsAttributes() map[string]schema.Attribute {
	attributes := map[string]schema.Attribute{}
	for _, shown := range countsShown() {
		attributes[shown.name] = schema.Int64Attribute{Computed: true, MarkdownDescription: shown.description}
	}
	return attributes
}

func countsValue(counts status.Counts) types.Object {
	values := map[string]attr.Value{}
	for _, shown := range countsShown() {
		values[shown.name] = types.Int64Value(int64(shown.of(counts)))
	}
	return types.ObjectValueMust(countsType().AttrTypes, values)
}

// setCounts fills in what is counted over deployments.
func (m *targetModel) setCounts(records map[deploy.Key]deploy.Record) {
	var all status.Counts
	var ready, failed int64
	clusters := map[string]status.Counts{}
	for key, record := range records {
		all = all.Plus(record.Counts)
		clusters[key.Cluster] = clusters[key.Cluster].Plus(record.Counts)
		switch record.State {
		case status.Ready:
			ready++
		case status.ErrApplied:
			failed++
		case status.NotReady, status.Pending, status.OutOfSync, status.Modified, status.WaitApplied:
		}
	}
	values := map[string]attr.Value{}
	for cluster, counts := range clusters {
		values[cluster] = countsValue(counts)
	}
	m.ReadyClusters = types.StringValue(readyClusters(records))
	m.Ready, m.Failed = types.Int64Value(ready), types.Int64Value(failed)
	m.ResourceCounts = countsValue(all)
	m.ClusterCounts = types.MapValueMust(countsType(), values)
}

// setCountsUnknown is for a plan that changes deployments.
func (m *targetModel) setCountsUnknown() {
	m.ReadyClusters = types.StringUnknown()
	m.Ready, m.Failed = types.Int64Unknown(), types.Int64Unknown()
	m.ResourceCounts = types.ObjectUnknown(countsType().AttrTypes)
	m.ClusterCounts = types.MapUnknown(countsType())
}

// keepFailed counts the deployments that have failed and are not touched: every other
// one that fails is an error of the apply, after which nothing has to be as planned.
func (m *targetModel) keepFailed(prior map[deploy.Key]deploy.Record, compared change) {
	var failed int64
	for key := range compared.keep {
		if prior[key].State == status.ErrApplied {
			failed++
		}
	}
	m.Failed = types.Int64Value(failed)
}

// lacksCounts says whether a state was written before there were all of the counts.
func (m *targetModel) lacksCounts() bool {
	return m.ReadyClusters.IsNull() || m.Ready.IsNull() || m.Failed.IsNull() || m.ResourceCounts.IsNull() || m.ClusterCounts.IsNull()
}

// keepCounts is for a plan that changes none.
func (m *targetModel) keepCounts(before *targetModel) {
	if before.lacksCounts() { // No refresh has filled them in.
		m.setCountsUnknown()
		return
	}
	m.ReadyClusters = before.ReadyClusters
	m.Ready, m.Failed = before.Ready, before.Failed
	m.ResourceCounts, m.ClusterCounts = before.ResourceCounts, before.ClusterCounts
}

// keepClusterCounts is for a plan that changes some clusters and leaves the others as
// they are, so that a plan for many shows only those.
func (m *targetModel) keepClusterCounts(before *targetModel, compared change) {
	if before.ClusterCounts.IsNull() {
		return // Of those that stay nothing is known.
	}
	known := before.ClusterCounts.Elements()
	planned := map[string]attr.Value{}
	for key := range compared.keep {
		if counts, ok := known[key.Cluster]; ok {
			planned[key.Cluster] = counts
			continue
		}
		planned[key.Cluster] = types.ObjectUnknown(countsType().AttrTypes)
	}
	for _, key := range compared.remove {
		if _, stays := planned[key.Cluster]; stays {
			planned[key.Cluster] = types.ObjectUnknown(countsType().AttrTypes)
		}
	}
	for _, d := range compared.write {
		planned[d.Cluster] = types.ObjectUnknown(countsType().AttrTypes)
	}
	m.ClusterCounts = types.MapValueMust(countsType(), planned)
}
