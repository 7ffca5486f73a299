package provider

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	resource "github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/engine"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/state"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/window"
)

// maxOverride is how long windows_override may be: it is part of each record of a release.
const maxOverride = 200

func windowsAttribute() schema.MapNestedAttribute {
	return schema.MapNestedAttribute{
		Optional: true,
		MarkdownDescription: "Change windows by name: when deployments may change. Outside of them, changes and removals are planned as held, and existing deployments stay as they are. " +
			"A deployment that no window concerns may change at any time. See the guide [Change windows](guides/windows.md).",
		Validators: []validator.Map{mapvalidator.KeysAre(framework.DNSLabel())},
		NestedObject: schema.NestedAttributeObject{Attributes: framework.Provider(map[string]resource.Attribute{
			"effect": framework.OptionalString("`allow` permits changes while a window is open: one open window of several that concern a deployment is sufficient. `deny` holds changes while a window is open, whatever others allow. Required.",
				framework.Required{}, stringvalidator.OneOf(string(window.Allow), string(window.Deny))),
			"cron": framework.OptionalString("When the window opens, in the five fields of cron: minute, hour, day of month, month, day of week, such as `0 22 * * 1-5`. Either `cron` or `weekly` is required."),
			"weekly": framework.OptionalObject("When the window opens, by days of the week.", map[string]resource.Attribute{
				"days":  framework.OptionalStrings("The days: `mon`, `tue`, `wed`, `thu`, `fri`, `sat`, `sun`. Required."),
				"start": framework.OptionalString("The time of day, such as `22:00`. Required.", framework.Required{}),
			}),
			"duration":  framework.OptionalString("How long the window is open, such as `6h` or `1h30m`. From a minute to 8784h, which are 366 days. Required.", framework.Required{}),
			"time_zone": framework.OptionalString("The time zone of `cron` and `weekly`, such as `Europe/Berlin`. Default `UTC`."),
			"targets": framework.OptionalObjects("Rules that select the clusters that the window concerns, as `targets` of a `fleet_cluster_target`. Default: all clusters.",
				ruleAttributes()),
			"bundles": framework.OptionalStrings("Names of the bundles that the window concerns. Default: all bundles."),
			"bundle_selector": framework.OptionalObject("The bundles that the window concerns, by their labels. With `bundles`, a bundle must meet both. "+
				"The labels of a bundle that was removed from the configuration are not known, so the window concerns it.", selectorAttributes()),
			"correct_drift": framework.OptionalBool("Whether the window lets drift be corrected at any time. Default `false`: that is held like other changes. A deployment that also changes for another reason is held."),
		})},
	}
}

func schedulesAttribute() schema.ListAttribute {
	return schema.ListAttribute{
		Optional: true, ElementType: types.StringType,
		MarkdownDescription: "Fleet's `Schedule` objects as YAML, one in each element, for example by `file`. Each is a window with the effect `allow` for all bundles on its clusters. Without `location`, its time zone is UTC.",
	}
}

func windowsOverrideAttribute() schema.StringAttribute {
	return schema.StringAttribute{
		Optional: true,
		MarkdownDescription: "Why changes are made although windows hold them, such as the number of an incident. Nothing is held then, a warning of the plan lists what would have been held, " +
			"and the reason is part of the description of each revision that is written. One line of at most 200 bytes. Default, and with `\"\"`: windows hold changes.",
		Validators: []validator.String{framework.Text("must be one line of at most 200 bytes", "Invalid reason", func(text string) string {
			if len(text) > maxOverride || diff.PrintableLine(text) != text {
				return "It must be one line of at most 200 bytes, without control characters."
			}
			return ""
		})},
	}
}

type windowModel struct {
	Effect         types.String `tfsdk:"effect"`
	Cron           types.String `tfsdk:"cron"`
	Weekly         types.Object `tfsdk:"weekly"`
	Duration       types.String `tfsdk:"duration"`
	TimeZone       types.String `tfsdk:"time_zone"`
	Targets        types.List   `tfsdk:"targets"`
	Bundles        types.List   `tfsdk:"bundles"`
	BundleSelector types.Object `tfsdk:"bundle_selector"`
	CorrectDrift   types.Bool   `tfsdk:"correct_drift"`
}

type weeklyModel struct {
	Days  []string `tfsdk:"days"`
	Start string   `tfsdk:"start"`
}

// changeWindows are the windows of the configuration.
type changeWindows struct {
	windows []window.Window
	// override is why nothing is held, "" if windows hold changes.
	override string
	// unknown reports that the configuration is not known yet.
	unknown bool
	now     func() time.Time
}

// changeWindows leaves Terraform.
func (m providerModel) changeWindows(ctx context.Context, hasEngine bool, diags *diag.Diagnostics) changeWindows {
	made := changeWindows{
		override: m.WindowsOverride.ValueString(), now: time.Now,
		unknown: framework.IsUnknownInside(ctx, m.Windows) || framework.IsUnknownInside(ctx, m.Schedules) || m.WindowsOverride.IsUnknown(),
	}
	if hasEngine {
		given := map[string]attr.Value{"windows": m.Windows, "fleet_schedules": m.Schedules, "windows_override": m.WindowsOverride}
		for _, attribute := range slices.Sorted(maps.Keys(given)) {
			if !given[attribute].IsNull() {
				addMessages(diags, report.WindowsWithEngine(attribute, engine.Refusal("provider", attribute)))
			}
		}
	}
	if made.unknown {
		return made
	}
	elements := m.Windows.Elements()
	for _, name := range slices.Sorted(maps.Keys(elements)) {
		var model windowModel
		diags.Append(framework.As(ctx, elements[name], &model)...)
		read, err := window.New(model.specification(ctx, name, diags))
		addMessages(diags, report.InvalidWindow(name, err))
		made.windows = append(made.windows, read)
	}
	for i, value := range m.Schedules.Elements() {
		text, _ := value.(types.String)
		read, err := window.ReadSchedule(text.ValueString())
		addMessages(diags, report.InvalidSchedule(i, err))
		made.windows = append(made.windows, read)
	}
	return made
}

func (m windowModel) specification(ctx context.Context, name string, diags *diag.Diagnostics) window.Specification {
	made := window.Specification{
		Name: name, Effect: window.Effect(m.Effect.ValueString()), Cron: m.Cron.ValueString(), Duration: m.Duration.ValueString(), TimeZone: m.TimeZone.ValueString(),
		Clusters: window.Clusters{All: m.Targets.IsNull(), Rules: rulesOf(ctx, m.Targets, diags)},
		Bundles:  window.Bundles{Selector: selectorOf(ctx, m.BundleSelector, diags)}, CorrectsDrift: m.CorrectDrift.ValueBool(),
	}
	for _, value := range m.Bundles.Elements() {
		if text, ok := value.(types.String); ok {
			made.Bundles.Names = append(made.Bundles.Names, text.ValueString())
		}
	}
	if !m.Weekly.IsNull() {
		var weekly weeklyModel
		framework.AsPlain(ctx, m.Weekly, &weekly, diags)
		made.Days, made.Start = weekly.Days, weekly.Start
	}
	return made
}

// timeFor returns the time that a plan decides for: that of the last refresh, so that the apply decides
// the same, and now if there was none.
func (w changeWindows) timeFor(stored time.Time) time.Time {
	if len(w.windows) == 0 || !stored.IsZero() {
		return stored
	}
	return w.clock()
}

// refreshed returns the time to store in a refresh. It changes only with a decision: private state
// that changed is written.
func (w changeWindows) refreshed(stored time.Time) time.Time {
	switch now := w.clock(); {
	case w.unknown:
		return stored
	case len(w.windows) == 0:
		return time.Time{}
	case !stored.IsZero() && window.IsSame(w.windows, stored, now):
		return stored
	default:
		return now
	}
}

func (w changeWindows) clock() time.Time { return w.now().UTC().Truncate(time.Second) }

// at returns what the windows decide at a time, nil without windows. The error is a
// *window.InvalidError.
func (w changeWindows) at(now time.Time, clusters []target.Cluster, groups []target.Group) (deploy.Windows, error) {
	if len(w.windows) == 0 {
		return nil, nil
	}
	set, err := window.NewSet(w.windows, clusters, groups)
	if err != nil {
		return nil, err
	}
	return set.At(now), nil
}

// description adds the reason of an override to what stands in the history of a release.
func (w changeWindows) description(of func(target.Deployment) string) func(target.Deployment) string {
	if w.override == "" || len(w.windows) == 0 {
		return of
	}
	return func(d target.Deployment) string {
		return fmt.Sprintf("%s, change windows overridden: %s", of(d), w.override)
	}
}

// windowsAt returns what the windows decide at a time, nil without windows.
func windowsAt(f *providerData, at time.Time, diags *diag.Diagnostics) deploy.Windows {
	clusters, _ := f.clusters.Facts()
	decided, err := f.windows.at(at, clusters, f.groups)
	addMessages(diags, report.UnusableWindow(err))
	return decided
}

// holdByWindows adds what the windows decide to what is desired. With an override they hold nothing.
func holdByWindows(f *providerData, desired deploy.Desired, m *targetModel, diags *diag.Diagnostics) deploy.Desired {
	if decided := windowsAt(f, m.decided, diags); f.windows.override == "" {
		desired.Windows = decided
	}
	return desired
}

// reportOverridden reports what windows would have held.
func reportOverridden(f *providerData, plan, before *targetModel, desired deploy.Desired, diags *diag.Diagnostics) {
	windows := windowsAt(f, plan.decided, diags)
	if f.windows.override == "" || windows == nil {
		return
	}
	held := deploy.HeldByWindows(desired, windows, before.records(), plan.releaseLabels().Changes(before.releaseLabels()))
	addMessages(diags, report.WindowsOverridden(plan.Name.ValueString(), f.windows.override, held))
}

// blockedNow are the deployments of a change that windows do not let change now.
func blockedNow(f *providerData, change deploy.Change, desired deploy.Desired, diags *diag.Diagnostics) map[deploy.Key]error {
	windows := windowsAt(f, f.windows.clock(), diags)
	if f.windows.override != "" {
		return nil
	}
	return change.Blocked(desired, windows)
}

// blockedRemovals are the deployments among those to be removed that windows do not let be removed now.
func blockedRemovals(f *providerData, removed []deploy.Key, needs map[string][]string, diags *diag.Diagnostics) map[deploy.Key]error {
	return blockedNow(f, deploy.Change{Remove: removed}, deploy.Desired{Needs: needs}, diags)
}

// reportDestroy reports that windows hold the removal of a target. What is not known yet holds nothing:
// the apply knows it.
func reportDestroy(f *providerData, gone *targetModel, private state.Private, diags *diag.Diagnostics) {
	_, unknown := f.clusters.Facts()
	if f.windows.unknown || f.clustersUnknown || f.groupsUnknown || len(unknown) > 0 {
		return
	}
	windows := windowsAt(f, f.windows.timeFor(private.Decided), diags)
	if windows == nil {
		return
	}
	name, held := gone.Name.ValueString(), deploy.HeldByWindows(deploy.Desired{Needs: private.Needs}, windows, gone.records(), false)
	if f.windows.override != "" {
		addMessages(diags, report.WindowsOverridden(name, f.windows.override, held))
		return
	}
	addMessages(diags, report.DestroyHeld(name, held))
}
