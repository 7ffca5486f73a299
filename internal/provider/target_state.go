package provider

import (
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/state"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

func deploymentTypes() map[string]attr.Type {
	return framework.StringTypes("release", "namespace", "chart", "version", "digest", "state", "message")
}

func deploymentType() types.ObjectType { return types.ObjectType{AttrTypes: deploymentTypes()} }

func objectsType() types.MapType { return types.MapType{ElemType: types.StringType} }

// shown leaves Terraform: what a plan or a state shows of deployments.
func (m *targetModel) shown() state.Shown {
	shown := state.Shown{
		Deployments: make(map[string]state.Deployment, len(m.Deployments.Elements())), Records: framework.KnownStrings(m.Records.Elements()),
		IsUnknown: m.Deployments.IsUnknown(),
	}
	objects := m.Objects.Elements()
	for name, value := range m.Deployments.Elements() {
		if object, ok := value.(types.Object); ok {
			d := deploymentOf(object)
			if hashes, ok := objects[name].(types.Map); ok && !hashes.IsUnknown() && !hashes.IsNull() {
				d.Objects = framework.KnownStrings(hashes.Elements())
			}
			shown.Deployments[name] = d
		}
	}
	return shown
}

func deploymentOf(object types.Object) state.Deployment {
	texts := framework.KnownStrings(object.Attributes())
	return state.Deployment{
		Release: texts["release"], Namespace: texts["namespace"], Chart: texts["chart"], Version: texts["version"],
		Digest: texts["digest"], State: texts["state"], Message: texts["message"],
		IsPlanned: object.IsUnknown() || object.Attributes()["state"].IsUnknown(),
	}
}

// setShown enters Terraform.
func (m *targetModel) setShown(shown state.Shown) {
	deployments := make(map[string]attr.Value, len(shown.Deployments))
	objects := make(map[string]attr.Value, len(shown.Deployments))
	records := framework.StringValues(shown.Records)
	for name, d := range shown.Deployments {
		deployments[name] = deploymentValue(d)
		objects[name] = framework.StringMapValue(d.Objects)
		if d.ObjectsUnknown {
			objects[name] = types.MapUnknown(types.StringType)
		}
		if d.IsPlanned {
			records[name] = types.StringUnknown()
		}
	}
	m.Deployments = types.MapValueMust(deploymentType(), deployments)
	m.Records = types.MapValueMust(types.StringType, records)
	m.Objects = types.MapNull(objectsType())
	switch {
	case m.PlanObjects.IsUnknown():
		m.Objects = types.MapUnknown(objectsType())
	case m.PlanObjects.ValueBool():
		m.Objects = types.MapValueMust(objectsType(), objects)
	}
}

func deploymentValue(d state.Deployment) types.Object {
	values := framework.StringValues(map[string]string{
		"release": d.Release, "namespace": d.Namespace, "chart": d.Chart, "version": d.Version,
		"digest": d.Digest, "state": d.State, "message": d.Message,
	})
	if d.DigestUnknown {
		values["digest"] = types.StringUnknown()
	}
	if d.IsPlanned {
		values["state"], values["message"] = types.StringUnknown(), types.StringUnknown()
	}
	return types.ObjectValueMust(deploymentTypes(), values)
}

// records are what the state knows of each deployment.
func (m *targetModel) records() map[deploy.Key]deploy.Record {
	return m.shown().DeployRecords(m.driftState)
}

// setRecords makes the computed attributes of what is true.
func (m *targetModel) setRecords(records map[deploy.Key]deploy.Record, lost state.LostReleases) {
	m.setShown(state.ShownOf(records, lost))
	m.setCounts(state.CountsOf(records))
}

// setPlanned makes the computed attributes of a plan. lost are the releases of wanted
// deployments that were not on their clusters.
func (m *targetModel) setPlanned(before *targetModel, prior map[deploy.Key]deploy.Record, planned *deploy.Plan, lost state.LostReleases) {
	creating := before.ID.IsNull()
	m.setShown(state.ShownPlan(planned, prior, lost))
	m.keepCounts(before)
	if creating || planned.Counts.Any() {
		m.Summary, m.Stages = types.StringValue(planned.Counts.String()), types.StringValue(planned.StagesText())
		m.setCountsUnknown()
		m.Failed = types.Int64Value(int64(state.FailedAfter(prior, planned.Change)))
	} else {
		m.Summary, m.Stages, m.Records = before.Summary, before.Stages, before.Records
	}
	if creating { // The one that a replacement continues can have more.
		m.Records = types.MapUnknown(types.StringType)
	} else if planned.Counts.Any() {
		m.keepClusterCounts(before, planned.Change)
	}
	if m.releaseLabels().MayChange(before.releaseLabels()) {
		m.Summary, m.Stages = types.StringUnknown(), types.StringUnknown()
		m.Records = types.MapUnknown(types.StringType)
	}
}

// setUnknown makes the computed attributes of a plan that knows nothing.
func (m *targetModel) setUnknown() {
	m.Deployments = types.MapUnknown(deploymentType())
	m.Objects = types.MapUnknown(objectsType())
	m.Records = types.MapUnknown(types.StringType)
	m.Summary, m.Stages = types.StringUnknown(), types.StringUnknown()
	m.setCountsUnknown()
}

// setCounts enters Terraform.
func (m *targetModel) setCounts(counts state.Counts) {
	clusters := map[string]attr.Value{}
	for cluster, of := range counts.Clusters {
		clusters[cluster] = countsValue(of)
	}
	m.ReadyClusters = types.StringValue(counts.ReadyClusters)
	m.Ready, m.Failed = types.Int64Value(int64(counts.Ready)), types.Int64Value(int64(counts.Failed))
	m.ResourceCounts = countsValue(counts.Objects)
	m.ClusterCounts = types.MapValueMust(countsType(), clusters)
}

// setCountsUnknown is for a plan that changes deployments.
func (m *targetModel) setCountsUnknown() {
	m.ReadyClusters = types.StringUnknown()
	m.Ready, m.Failed = types.Int64Unknown(), types.Int64Unknown()
	m.ResourceCounts = types.ObjectUnknown(countsType().AttrTypes)
	m.ClusterCounts = types.MapUnknown(countsType())
}

// lacksCounts reports whether a state was written before there were all of the counts.
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
func (m *targetModel) keepClusterCounts(before *targetModel, change deploy.Change) {
	if before.ClusterCounts.IsNull() {
		return // Of those that stay nothing is known.
	}
	known, planned := before.ClusterCounts.Elements(), map[string]attr.Value{}
	for cluster, stays := range state.ClustersAfter(change) {
		counts, ok := known[cluster]
		if !ok || !stays {
			counts = types.ObjectUnknown(countsType().AttrTypes)
		}
		planned[cluster] = counts
	}
	m.ClusterCounts = types.MapValueMust(countsType(), planned)
}

// releaseLabels is what stands on the records of releases.
func (m *targetModel) releaseLabels() state.ReleaseLabels {
	text := func(value types.String) state.Optional[string] {
		return state.Optional[string]{Value: value.ValueString(), IsMissing: value.IsNull(), Unknown: value.IsUnknown()}
	}
	return state.ReleaseLabels{
		Name: text(m.Name), AdoptionKey: text(m.AdoptionKey),
		PlanObjects:  state.Optional[bool]{Value: m.PlanObjects.ValueBool(), IsMissing: m.PlanObjects.IsNull(), Unknown: m.PlanObjects.IsUnknown()},
		ShowsObjects: !m.Objects.IsNull(), Exists: !m.ID.IsNull(),
	}
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
