package provider

import (
	"cmp"
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/run"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diagnostics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/policy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/state"
)

type targetModel struct {
	Name               types.String   `tfsdk:"name"`
	Bundles            types.List     `tfsdk:"bundles"`
	Targets            types.List     `tfsdk:"targets"`
	Wait               types.Bool     `tfsdk:"wait"`
	DeploymentTimeout  types.String   `tfsdk:"deployment_timeout"`
	ReadyFor           types.String   `tfsdk:"ready_for"`
	ExplainLogs        types.Bool     `tfsdk:"explain_logs"`
	MaxHistory         types.Int64    `tfsdk:"max_history"`
	TakeOwnership      types.Bool     `tfsdk:"take_ownership"`
	TakeOwnershipOf    types.Set      `tfsdk:"take_ownership_of"`
	AdoptionKey        types.String   `tfsdk:"adoption_key"`
	AllowEmpty         types.Bool     `tfsdk:"allow_empty"`
	MaxRemovals        types.String   `tfsdk:"max_removals"`
	DeletionProtection types.Bool     `tfsdk:"deletion_protection"`
	PlanObjects        types.Bool     `tfsdk:"plan_objects"`
	Drift              types.String   `tfsdk:"drift"`
	Diff               types.String   `tfsdk:"diff"`
	OnError            types.String   `tfsdk:"on_error"`
	CRDs               types.String   `tfsdk:"crds"`
	ValuesWriteOnly    types.Dynamic  `tfsdk:"values_wo"` // Null: the configuration alone has it.
	ValuesVersions     types.Map      `tfsdk:"values_wo_version"`
	FilesWriteOnly     types.Dynamic  `tfsdk:"files_wo"` // Null: the configuration alone has it.
	FilesVersions      types.Map      `tfsdk:"files_wo_version"`
	ID                 types.String   `tfsdk:"id"`
	Deployments        types.Map      `tfsdk:"deployments"` // Not used, like the four maps below: see shown.
	Objects            types.Map      `tfsdk:"objects"`
	NotReady           types.Map      `tfsdk:"not_ready"`
	Clusters           types.Map      `tfsdk:"clusters"`
	Records            types.Map      `tfsdk:"records"`
	Planned            types.String   `tfsdk:"planned"`
	Timeouts           timeouts.Value `tfsdk:"timeouts"`

	// shown are the maps that protocol.StringMaps passes around the framework.
	shown state.Shown
	// decided is the time at which change windows are evaluated.
	decided time.Time
	// limit is how long an apply of the plan may take.
	limit time.Duration
}

// readLimit sets the limit of a plan. creating is true if the apply creates the target.
func (m *targetModel) readLimit(ctx context.Context, creating bool, diags *diag.Diagnostics) {
	read := m.Timeouts.Update
	if creating {
		read = m.Timeouts.Create
	}
	limit, problems := read(ctx, defaultOperation)
	diags.Append(problems...)
	m.limit = limit
}

// identity returns what identifies the target. before is its state, which has the key of its records.
func (m *targetModel) identity(f *providerData, before *targetState) deploy.TargetIdentity {
	return deploy.TargetIdentity{
		Owner: f.Owner, Target: m.Name.ValueString(), Instance: m.ID.ValueString(),
		AdoptionKey: release.AdoptionKey(f.Owner, m.AdoptionKey.ValueString()),
		Key:         release.RecordKey(f.Owner, m.AdoptionKey.ValueString(), before.known.Keys(before.ID.ValueString())),
	}
}

// settings converts from values of Terraform.
func (m *targetModel) settings(diags *diag.Diagnostics) run.Settings {
	timeout, err := time.ParseDuration(m.DeploymentTimeout.ValueString())
	if err != nil {
		diagnostics.Add(diags, report.InvalidSetting("deployment_timeout", "Invalid duration", err))
	}
	return run.Settings{
		Wait:        m.Wait.ValueBool(),
		Timeout:     timeout,
		ReadyFor:    m.readyFor(diags),
		ExplainLogs: m.ExplainLogs.ValueBool(),
		Limit:       m.limit,
		MaxHistory:  int(m.MaxHistory.ValueInt64()),
		Consent:     m.consent(diags),
		Drift:       m.drift(),
		Description: describer(m.Name.ValueString(), m.Bundles),
	}
}

// readyFor returns the default for a configuration without the attribute.
func (m *targetModel) readyFor(diags *diag.Diagnostics) time.Duration {
	readyFor, err := time.ParseDuration(cmp.Or(m.ReadyFor.ValueString(), defaultReadyFor))
	if err != nil {
		diagnostics.Add(diags, report.InvalidSetting("ready_for", "Invalid duration", err))
	}
	return readyFor
}

// consent returns which deployments may take over what others have. A pattern that is not known yet
// selects none.
func (m *targetModel) consent(diags *diag.Diagnostics) deploy.Consent {
	var patterns []string
	for _, element := range m.TakeOwnershipOf.Elements() {
		if text, ok := element.(types.String); ok && !text.IsUnknown() {
			patterns = append(patterns, text.ValueString())
		}
	}
	of, err := policy.NewDeployments(patterns)
	if err != nil {
		diagnostics.Add(diags, report.InvalidSetting("take_ownership_of", "Invalid pattern", err))
	}
	return deploy.Consent{All: m.TakeOwnership.ValueBool(), Of: of}
}

// drift returns live for a state that was written before the attribute existed.
func (m *targetModel) drift() deploy.Drift {
	if m.Drift.ValueString() == "" {
		return deploy.DriftLive
	}
	return deploy.Drift(m.Drift.ValueString())
}

// diff returns auto for a configuration without the attribute. A state that was written before auto
// existed has no such attribute either.
func (m *targetModel) diff() plan.DiffMode {
	return plan.DiffMode(cmp.Or(m.Diff.ValueString(), string(plan.DiffAuto)))
}

func (m *targetModel) holdsBroken() bool { return m.OnError.ValueString() == onErrorHold }

func (m *targetModel) removalLimit() plan.RemovalLimit {
	return plan.RemovalLimit{AllowEmpty: m.AllowEmpty.ValueBool() || m.AllowEmpty.IsUnknown(), Max: m.MaxRemovals.ValueString()}
}
