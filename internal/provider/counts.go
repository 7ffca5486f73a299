package provider

import (
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// count is one of the numbers of resource_counts of fleet_deployments.
type count struct {
	name, description string
	of                func(status.Counts) int
}

func countsShown() []count {
	return []count{
		{"desired_ready", "All objects of the deployments.", status.Counts.Desired},
		{"ready", "Unchanged since they were deployed, and ready.", func(c status.Counts) int { return c.Ready }},
		{"not_ready", "Unchanged since they were deployed, and not ready.", func(c status.Counts) int { return c.NotReady }},
		{"modified", "Different from what was deployed.", func(c status.Counts) int { return c.Modified }},
		{"missing", "Deployed, but missing on the cluster.", func(c status.Counts) int { return c.Missing }},
		{"not_owned", "Owned by another release; they count in none of the other numbers.", func(c status.Counts) int { return c.NotOwned }},
		{"unknown", "Not read, because permission is missing or the deployment failed.", func(c status.Counts) int { return c.Unknown }},
	}
}

func countsAttributes() map[string]schema.Attribute {
	attributes := map[string]schema.Attribute{}
	for _, shown := range countsShown() {
		attributes[shown.name] = schema.Int64Attribute{Computed: true, MarkdownDescription: shown.description}
	}
	return attributes
}

func countsType() types.ObjectType {
	made := map[string]attr.Type{}
	for _, shown := range countsShown() {
		made[shown.name] = types.Int64Type
	}
	return types.ObjectType{AttrTypes: made}
}

func countsValue(counts status.Counts) types.Object {
	values := map[string]attr.Value{}
	for _, shown := range countsShown() {
		values[shown.name] = types.Int64Value(int64(shown.of(counts)))
	}
	return types.ObjectValueMust(countsType().AttrTypes, values)
}
