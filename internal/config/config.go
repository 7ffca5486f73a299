// Package config reads the provider block: its schema, and its values as plain Settings. It connects to
// nothing.
package config

import (
	"cmp"
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/chart"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/cluster"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diagnostics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fetch"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleet"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetschema"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/git"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/policy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/sops"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/window"
)

// Settings are the provider block in plain values.
type Settings struct {
	Owner         string
	OwnerUnknown  bool
	Parallelism   int
	OnUnreachable string // KeepUnreachable or ErrorUnreachable.
	OnMissing     deploy.OnMissing
	CacheDir      string
	RenderTimeout time.Duration // 0 for the default.

	Clusters          map[string]cluster.Entry
	ClustersUnknown   bool
	Groups            []target.Group
	GroupsUnknown     bool
	Git               map[string]git.Credentials // By the beginning of the URL.
	GitUnknown        bool
	Registries        map[string]chart.Registry // By the beginning of the URL.
	RegistriesUnknown bool
	Trust             fetch.Trust
	RefusesPrivate    bool // Of addresses that only the content of a source names.
	SOPS              sops.Keys
	Policies          []policy.Policy
	PoliciesUnknown   bool
	Management        *Management // nil without an engine.
	Windows           window.Configured
}

// HasEngine reports whether a Fleet delivers, even if the connection to it is not known yet.
func (s Settings) HasEngine() bool { return s.Management.Delivers() }

// Boundary is what the content of repositories and charts may reach.
func (s Settings) Boundary() fetch.Boundary {
	boundary := fetch.Boundary{RefusesPrivate: s.RefusesPrivate}
	for prefix := range s.Git {
		if at, err := git.ScopeOf(prefix); err == nil { // The schema has checked the form.
			boundary.Named = append(boundary.Named, at)
		}
	}
	for prefix := range s.Registries {
		if at, err := chart.ScopeOf(prefix); err == nil { // chart.NewFetcher reports the others.
			boundary.Named = append(boundary.Named, at)
		}
	}
	return boundary
}

// AddSecrets makes a masker hide all credentials.
func (s Settings) AddSecrets(masker *mask.Masker) {
	if s.Management != nil {
		s.Management.Connection.AddSecrets(masker)
	}
	for _, entry := range s.Clusters {
		entry.Connection.AddSecrets(masker)
	}
	for _, of := range s.Git {
		masker.Add(of.Secrets()...)
	}
	for _, of := range s.Registries {
		masker.Add(of.Secrets()...)
	}
	masker.Add(s.SOPS.Secrets()...)
}

// Model is the provider block.
type Model struct {
	Owner            types.String `tfsdk:"owner"`
	Engine           types.Object `tfsdk:"engine"`
	Clusters         types.Map    `tfsdk:"clusters"`
	ClusterGroups    types.Map    `tfsdk:"cluster_groups"`
	Git              types.Map    `tfsdk:"git"`
	Registries       types.Map    `tfsdk:"registries"`
	TLS              types.Object `tfsdk:"tls"`
	PrivateAddresses types.Bool   `tfsdk:"private_addresses"`
	SOPS             types.Object `tfsdk:"sops"`
	Parallelism      types.Int64  `tfsdk:"parallelism"`
	RenderTimeout    types.String `tfsdk:"render_timeout"`
	OnUnreachable    types.String `tfsdk:"on_unreachable"`
	OnMissing        types.String `tfsdk:"on_missing"`
	CacheDir         types.String `tfsdk:"cache_dir"`
	Policies         types.Map    `tfsdk:"policies"`
	FleetPolicies    types.List   `tfsdk:"fleet_policies"`

	Windows         types.Map    `tfsdk:"windows"`
	Schedules       types.List   `tfsdk:"fleet_schedules"`
	WindowsOverride types.String `tfsdk:"windows_override"`
}

const defaultParallelism = 16

// Settings turns the provider block into plain values, and records what is unknown.
func (m Model) Settings(ctx context.Context, diags *diag.Diagnostics) Settings {
	// The schema has checked the form.
	renderTimeout, _ := time.ParseDuration(m.RenderTimeout.ValueString())
	plain := Settings{
		Owner: m.Owner.ValueString(), OwnerUnknown: m.Owner.IsUnknown(),
		Parallelism:   int(cmp.Or(max(0, m.Parallelism.ValueInt64()), defaultParallelism)),
		OnUnreachable: cmp.Or(m.OnUnreachable.ValueString(), KeepUnreachable),
		OnMissing:     deploy.OnMissing(cmp.Or(m.OnMissing.ValueString(), string(deploy.MissingIsError))),
		CacheDir:      m.CacheDir.ValueString(),
		RenderTimeout: renderTimeout,

		Clusters: map[string]cluster.Entry{}, ClustersUnknown: m.Clusters.IsUnknown(),
		GroupsUnknown: framework.IsUnknownInside(ctx, m.ClusterGroups),
		GitUnknown:    m.Git.IsUnknown(), RegistriesUnknown: m.Registries.IsUnknown(),
		Git:        framework.Entries(ctx, m.Git, git.Credentials{Unknown: true}, gitModel.credentials, diags),
		Registries: framework.Entries(ctx, m.Registries, chart.Registry{Unknown: true}, registryModel.registry, diags),
		SOPS:       keysOf(ctx, m.SOPS, diags),
		Management: managementOf(ctx, m.Engine, diags),
	}
	plain.RefusesPrivate = !m.PrivateAddresses.IsNull() && !m.PrivateAddresses.ValueBool()
	plain = plain.withTrust(ctx, m.TLS, diags)
	if m.PrivateAddresses.IsUnknown() {
		plain = plain.withoutServers()
	}
	if m.OnMissing.IsUnknown() {
		plain.OnMissing = deploy.OnMissingUnknown
	}
	for name, entry := range m.Clusters.Elements() {
		plain.Clusters[name] = clusterEntry(ctx, name, entry, diags)
	}
	plain.Windows = m.windows(ctx, plain.HasEngine(), diags)
	if !plain.GroupsUnknown {
		plain.Groups = groupsOf(ctx, m.ClusterGroups, diags)
	}
	policies, known := policiesOf(ctx, m.Policies, m.FleetPolicies, diags)
	plain.Policies, plain.PoliciesUnknown = policies, !known
	if plain.HasEngine() && len(plain.Groups) > 0 && len(plain.Clusters) == 0 && !plain.ClustersUnknown {
		diagnostics.Add(diags, report.GroupsWithEngine(fleet.Refusal("provider", "cluster_groups")))
	}
	return plain
}

type groupModel struct {
	Selector types.Object `tfsdk:"selector"`
	Labels   types.Map    `tfsdk:"labels"`
}

func groupsOf(ctx context.Context, groups types.Map, diags *diag.Diagnostics) []target.Group {
	var found []target.Group
	for name, value := range groups.Elements() {
		var model groupModel
		diags.Append(framework.As(ctx, value, &model)...)
		selector := fleetschema.SelectorOf(ctx, model.Selector, diags)
		if selector == nil {
			selector = &fleetyaml.Selector{}
		}
		found = append(found, target.Group{Name: name, Selector: *selector, Labels: framework.StringMap(ctx, model.Labels, diags)})
	}
	return found
}
