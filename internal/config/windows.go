package config

import (
	"context"
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

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diagnostics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleet"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetschema"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
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
		NestedObject: schema.NestedAttributeObject{
			Attributes: framework.Provider(windowAttributes()),
			Validators: []validator.Object{framework.Criteria{"all", "targets", "bundles", "bundle_selector"}},
		},
	}
}

func windowAttributes() map[string]resource.Attribute {
	return map[string]resource.Attribute{
		"all": framework.OptionalBool("`true`: the window concerns all bundles on all clusters. It excludes `targets`, `bundles` and `bundle_selector`. One of the four is required."),
		"effect": framework.OptionalString("`allow` permits changes while a window is open: one open window of several that concern a deployment is sufficient. `deny` holds changes while a window is open, whatever others allow. Required.",
			framework.Required{}, stringvalidator.OneOf(string(window.Allow), string(window.Deny))),
		"cron": framework.OptionalString("When the window opens, in the five fields of cron: minute, hour, day of month, month, day of week, such as `0 22 * * 1-5`. Either `cron` or `weekly` is required."),
		"weekly": framework.OptionalObject("When the window opens, by days of the week.", map[string]resource.Attribute{
			"days":  framework.OptionalStrings("The days: `mon`, `tue`, `wed`, `thu`, `fri`, `sat`, `sun`. Required."),
			"start": framework.OptionalString("The time of day, such as `22:00`. Required.", framework.Required{}),
		}),
		"duration":  framework.OptionalString("How long the window is open, such as `6h` or `1h30m`. From a minute to 8784h, which are 366 days. Required.", framework.Required{}),
		"time_zone": framework.OptionalString("The time zone of `cron` and `weekly`, such as `Europe/Berlin`. Default `UTC`."),
		"targets": fleetschema.OptionalRules("Rules that select the clusters that the window concerns, as `targets` of a `fleet_cluster_target`. Default with `bundles` or `bundle_selector`: all clusters.",
			fleetschema.Rule()),
		"bundles": framework.OptionalStrings("Names of the bundles that the window concerns. Default with `targets`: all bundles."),
		"bundle_selector": fleetschema.SelectorObject("The bundles that the window concerns, by their labels. With `bundles`, a bundle must meet both. " +
			"The labels of a bundle that was removed from the configuration are not known, so the window concerns it."),
		"correct_drift": framework.OptionalBool("Whether the window lets drift be corrected at any time. Default `false`: that is held like other changes. A deployment that also changes for another reason is held."),
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
			if len(text) > maxOverride || mask.PrintableLine(text) != text {
				return "It must be one line of at most 200 bytes, without control characters."
			}
			return ""
		})},
	}
}

type windowModel struct {
	All            types.Bool   `tfsdk:"all"`
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

func (m Model) windows(ctx context.Context, hasEngine bool, diags *diag.Diagnostics) window.Configured {
	made := window.Configured{
		Override: m.WindowsOverride.ValueString(), Now: time.Now,
		Unknown: framework.IsUnknownInside(ctx, m.Windows) || framework.IsUnknownInside(ctx, m.Schedules) || m.WindowsOverride.IsUnknown(),
	}
	if hasEngine {
		given := map[string]attr.Value{"windows": m.Windows, "fleet_schedules": m.Schedules, "windows_override": m.WindowsOverride}
		for _, attribute := range slices.Sorted(maps.Keys(given)) {
			if !given[attribute].IsNull() {
				diagnostics.Add(diags, report.WindowsWithEngine(attribute, fleet.Refusal("provider", attribute)))
			}
		}
	}
	if made.Unknown {
		return made
	}
	elements := m.Windows.Elements()
	for _, name := range slices.Sorted(maps.Keys(elements)) {
		var model windowModel
		diags.Append(framework.As(ctx, elements[name], &model)...)
		read, err := window.New(model.specification(ctx, name, diags))
		diagnostics.Add(diags, report.InvalidWindow(name, err))
		made.Windows = append(made.Windows, read)
	}
	for i, text := range framework.Strings(ctx, m.Schedules, diags) {
		read, err := window.ReadSchedule(text)
		diagnostics.Add(diags, report.InvalidSchedule(i, err))
		made.Windows = append(made.Windows, read)
	}
	return made
}

func (m windowModel) specification(ctx context.Context, name string, diags *diag.Diagnostics) window.Specification {
	made := window.Specification{
		Name: name, Effect: window.Effect(m.Effect.ValueString()), Cron: m.Cron.ValueString(), Duration: m.Duration.ValueString(), TimeZone: m.TimeZone.ValueString(),
		Clusters: window.Clusters{All: m.Targets.IsNull(), Rules: fleetschema.RulesOf(ctx, m.Targets, diags)},
		Bundles:  window.Bundles{Names: framework.Strings(ctx, m.Bundles, diags), Selector: fleetschema.SelectorOf(ctx, m.BundleSelector, diags)},

		CorrectsDrift: m.CorrectDrift.ValueBool(),
	}
	if !m.Weekly.IsNull() {
		var weekly weeklyModel
		framework.AsPlain(ctx, m.Weekly, &weekly, diags)
		made.Days, made.Start = weekly.Days, weekly.Start
	}
	return made
}
