package provider

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diagnostics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/protocol"
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

// stringMaps are the attributes of resources that are protocol.StringMaps.
func stringMaps() map[string][]string {
	return map[string][]string{typeName + "_cluster_target": slices.Collect(maps.Keys(stringMapsOf(state.Shown{})))}
}

// readState reads the state of a target. Private state has a part of it.
func readState(ctx context.Context, from modelReader, private state.Private, diags *diag.Diagnostics) *targetState {
	var read targetState
	read.load(ctx, from, protocol.StringMapsOf(ctx).Prior, diags)
	if !diags.HasError() {
		read.known = state.Decode(read.shown, read.planned(), private.DriftState)
		diagnostics.Add(diags, report.UnreadableRecords(read.Name.ValueString(), read.known.Damaged))
	}
	return &read
}

// load reads a state or a plan.
func (m *targetModel) load(ctx context.Context, from modelReader, maps func() (map[string]protocol.StringMap, error), diags *diag.Diagnostics) {
	diags.Append(from.Get(ctx, m)...)
	found, err := maps()
	if err != nil {
		diagnostics.Add(diags, report.Failed("Cannot read the state or the plan of a target", err))
		return
	}
	m.shown = shownOf(found)
}

// save sets a state or a plan.
func (m *targetModel) save(ctx context.Context, to valueWriter, diags *diag.Diagnostics) {
	for _, computed := range []*types.Map{&m.Deployments, &m.Objects, &m.NotReady, &m.Clusters, &m.Records} {
		*computed = types.MapNull(types.StringType) // The framework has made them unknown in a plan.
	}
	failed := to.Set(ctx, m)
	diags.Append(failed...)
	if !failed.HasError() {
		protocol.StringMapsOf(ctx).Set(stringMapsOf(m.shown))
	}
}

// stringMapsOf is the reverse of shownOf.
func stringMapsOf(shown state.Shown) map[string]protocol.StringMap {
	return map[string]protocol.StringMap{
		"deployments": {Elements: shown.Deployments, Unknown: shown.IsUnknown},
		"objects":     {Elements: shown.Objects, Unknown: shown.ObjectsUnknown},
		"not_ready":   {Elements: shown.NotReady, Unknown: shown.NotReadyUnknown},
		"clusters":    {Elements: shown.Clusters, Unknown: shown.IsUnknown},
		"records":     {Elements: shown.Records, Unknown: shown.RecordsUnknown},
	}
}

func shownOf(maps map[string]protocol.StringMap) state.Shown {
	return state.Shown{
		Deployments: maps["deployments"].Elements, Objects: maps["objects"].Elements, Records: maps["records"].Elements,
		NotReady: maps["not_ready"].Elements, Clusters: maps["clusters"].Elements,
		IsUnknown: maps["deployments"].Unknown, NotReadyUnknown: maps["not_ready"].Unknown,
		ObjectsUnknown: maps["objects"].Unknown, RecordsUnknown: maps["records"].Unknown,
	}
}

// replacedState returns the state that a replacement begins with. It has no name, so that every
// release is read and labelled again.
func replacedState(left plan.Predecessor) *targetState {
	before := &targetState{isReplaced: true}
	before.ID, before.PlanObjects = types.StringValue(left.Instance), types.BoolValue(true)
	before.setOnlyRecords(left.Records, left.Missing)
	before.known = state.Decode(before.shown, before.planned(), state.DriftState{})
	return before
}

// setShown sets what a plan or a state shows of deployments. It shows objects only if the
// configuration says so.
func (m *targetModel) setShown(shown state.Shown) {
	m.shown = shown
	m.shown.ObjectsUnknown = shown.ObjectsUnknown || m.PlanObjects.IsUnknown()
	if m.shown.ObjectsUnknown || !m.PlanObjects.ValueBool() {
		m.shown.Objects = nil
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
		m.shown.Records, m.shown.RecordsUnknown = nil, true
	case !plan.Counts.Any():
		m.shown.Records = before.shown.Records
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
	m.shown = state.Shown{IsUnknown: true, NotReadyUnknown: true, ObjectsUnknown: true, RecordsUnknown: true}
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
		ShowsObjects: m.shown.Objects != nil, Exists: !m.ID.IsNull(),
	}
}
