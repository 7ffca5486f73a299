package provider

import (
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/state"
)

// shown converts from values of Terraform: the part of a plan or a state that shows deployments.
func (m *targetModel) shown() state.Shown {
	return state.Shown{
		Deployments: framework.StringsOfMap(m.Deployments), Objects: framework.StringsOfMap(m.Objects), Records: framework.StringsOfMap(m.Records),
		NotReady: framework.StringsOfMap(m.NotReady), Clusters: framework.StringsOfMap(m.Clusters),
		IsUnknown: m.Deployments.IsUnknown(), NotReadyUnknown: m.NotReady.IsUnknown(), ObjectsUnknown: m.Objects.IsUnknown(),
	}
}

// setShown converts to values of Terraform.
func (m *targetModel) setShown(shown state.Shown) {
	m.Deployments, m.Records, m.Clusters = framework.MapOfStrings(shown.Deployments), framework.MapOfStrings(shown.Records), framework.MapOfStrings(shown.Clusters)
	m.NotReady = framework.MapOfStrings(shown.NotReady)
	if shown.NotReadyUnknown {
		m.NotReady = types.MapUnknown(types.StringType)
	}
	m.Objects = types.MapNull(types.StringType)
	switch {
	case m.PlanObjects.IsUnknown(), shown.ObjectsUnknown:
		m.Objects = types.MapUnknown(types.StringType)
	case m.PlanObjects.ValueBool():
		m.Objects = framework.MapOfStrings(shown.Objects)
	}
}

// records returns the record of each deployment in the state.
func (m *targetModel) records() map[deploy.Key]deploy.Record {
	return m.shown().DeployRecords(m.driftState)
}

// contents returns what the state shows of records.
func (m *targetModel) contents(records map[deploy.Key]deploy.Record, lost state.LostReleases, held map[deploy.Key]bool) state.Contents {
	return state.Contents{Records: records, Lost: lost, Held: held, ShowsObjects: m.PlanObjects.ValueBool()}
}

// setPlanned sets the computed attributes of a plan. lost are the releases of wanted deployments
// that were missing on their clusters.
func (m *targetModel) setPlanned(before *targetModel, planned *deploy.Plan, lost state.LostReleases) {
	creating := before.ID.IsNull()
	var shown *state.Shown
	if !creating {
		known := before.shown()
		shown = &known
	}
	m.setShown(state.ShownPlan(planned, shown, lost, m.PlanObjects.ValueBool()))
	switch {
	case creating, m.releaseLabels().MayChange(before.releaseLabels()): // A replacement can continue a target with more records.
		m.Records = types.MapUnknown(types.StringType)
	case !planned.Counts.Any():
		m.Records = before.Records
	}
}

// setUnknown sets the computed attributes of a plan in which nothing is known.
func (m *targetModel) setUnknown() {
	for _, computed := range []*types.Map{&m.Deployments, &m.Objects, &m.NotReady, &m.Clusters, &m.Records} {
		*computed = types.MapUnknown(types.StringType)
	}
}

// releaseLabels returns the values that are in the records of releases.
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
