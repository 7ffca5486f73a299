package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diagnostics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/state"
)

// targetState is the state of a target, decoded once in a call of Terraform.
type targetState struct {
	targetModel

	known state.Contents
	// isReplaced is true for the state of a target that a create replaces. The plan of the create
	// did not have it.
	isReplaced bool
}

// readState reads the state of a target. Private state has a part of it.
func readState(ctx context.Context, from modelReader, private state.Private, diags *diag.Diagnostics) *targetState {
	var read targetState
	diags.Append(from.Get(ctx, &read.targetModel)...)
	if !diags.HasError() {
		read.known = state.Decode(read.shown(), read.planned(), private.DriftState)
		diagnostics.Add(diags, report.UnreadableRecords(read.Name.ValueString(), read.known.Damaged))
	}
	return &read
}

// replacedState returns the state that a replacement begins with. It has no name, so that every
// release is read and labelled again.
func replacedState(left plan.Predecessor) *targetState {
	before := &targetState{isReplaced: true}
	before.ID, before.PlanObjects = types.StringValue(left.Instance), types.BoolValue(true)
	before.setOnlyRecords(left.Records, left.Missing)
	before.known = state.Decode(before.shown(), before.planned(), state.DriftState{})
	return before
}

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
	m.Deployments = framework.MapOfStrings(shown.Deployments)
	m.Records = framework.MapOfStrings(shown.Records)
	m.Clusters = framework.MapOfStrings(shown.Clusters)
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

// setContents sets what the state shows of records. held are the deployments that the last change
// held.
func (m *targetModel) setContents(records map[deploy.Key]deploy.Record, missing state.MissingReleases, held map[deploy.Key]bool) {
	m.setShown(state.Contents{Records: records, Missing: missing, Held: held, ShowsObjects: m.PlanObjects.ValueBool()}.Shown())
}

// setOnlyRecords does the same where no change has held a deployment.
func (m *targetModel) setOnlyRecords(records map[deploy.Key]deploy.Record, missing state.MissingReleases) {
	m.setContents(records, missing, nil)
	m.Planned = types.StringValue(state.Planned{}.Encode())
}

// setPlanned sets the computed attributes of a plan. missing are the releases of wanted deployments
// that were missing on their clusters.
func (m *targetModel) setPlanned(before *targetState, plan *plan.Plan, missing state.MissingReleases) {
	creating := before.ID.IsNull()
	mayRelabel := m.releaseLabels().MayChange(before.releaseLabels())
	var known *state.Contents
	if !creating {
		known = &before.known
	}
	m.setShown(state.ShownPlan(plan, known, missing, m.PlanObjects.ValueBool()))
	switch {
	case creating, mayRelabel: // A replacement can continue a target with more records.
		m.Records = types.MapUnknown(types.StringType)
	case !plan.Counts.Any():
		m.Records = before.Records
	}
	planned := state.PlannedOf(plan)
	planned.Number = before.known.Planned.Number + 1
	switch {
	case mayRelabel:
		m.Planned = types.StringUnknown()
	case !creating && before.known.Planned.IsRepeatedBy(planned):
		m.Planned = before.Planned
	case m.Wait.IsUnknown():
		m.Planned = types.StringUnknown()
	default:
		m.Planned = types.StringValue(planned.Encode())
	}
}

// planned reads what an apply needs of its plan.
func (m *targetModel) planned() state.Planned {
	planned := state.DecodePlanned(m.Planned.ValueString())
	planned.IsUnknown = m.Planned.IsUnknown()
	return planned
}

// setUnknown sets the computed attributes of a plan in which nothing is known.
func (m *targetModel) setUnknown() {
	for _, computed := range []*types.Map{&m.Deployments, &m.Objects, &m.NotReady, &m.Clusters, &m.Records} {
		*computed = types.MapUnknown(types.StringType)
	}
	m.Planned = types.StringUnknown()
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
