package config

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	providerschema "github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diagnostics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetschema"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/policy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
)

const globs = "`*` matches any characters but `/`, `**` any characters, `?` one character but `/`."

func policiesAttribute() providerschema.MapNestedAttribute {
	return providerschema.MapNestedAttribute{
		Optional: true,
		MarkdownDescription: "Policies by name: what may be deployed. A violation of a policy is an error of the plan, and nothing is changed. " +
			"A list that is not set restricts nothing, and an empty list allows nothing. Patterns match whole texts: " + globs + " See the guide on policies.",
		NestedObject: providerschema.NestedAttributeObject{
			Attributes: framework.Provider(policyAttributes()),
			Validators: []validator.Object{restrictions(policyAttributes())},
		},
	}
}

func fleetPoliciesAttribute() providerschema.ListAttribute {
	return providerschema.ListAttribute{
		Optional: true, ElementType: types.StringType,
		MarkdownDescription: "Fleet's `Policy` and `GitRepoRestriction` objects as YAML, all of one namespace. As in Fleet, what one of them allows is allowed. " +
			"They apply to all clusters, beside `policies`. Names of Secrets and `allowedDownstreamResources` in them have no effect, and the plan warns. A field that the provider does not know is an error.",
	}
}

func policyAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"action": framework.OptionalString("`deny` (default): a violation is an error. `warn`: it is a warning.", stringvalidator.OneOf(string(policy.Deny), string(policy.Warn))),
		"applies_to": scopeAttribute(map[string]schema.Attribute{
			"all":             framework.OptionalBool("`true`: the policy is for all deployments. It excludes the other attributes."),
			"clusters":        fleetschema.OptionalRules("Rules for clusters, as `targets` of a `fleet_cluster_target`. One of them must match.", fleetschema.Rule()),
			"bundles":         framework.OptionalStrings("Patterns of names of bundles. A fleet.yaml can choose the name of its bundle. Use `repositories` to restrict the authors of a repository."),
			"bundle_selector": fleetschema.SelectorObject("Labels of bundles. A fleet.yaml can set labels, too."),
			"repositories":    framework.OptionalStrings("Patterns of the URLs of git repositories, as they are written in `repo`. Bundles from elsewhere do not match."),
		}),
		"repositories": framework.OptionalStrings("Patterns of the URLs of git repositories that are allowed. Bundles of files, folders and charts have none, and are not restricted."),
		"charts": framework.OptionalObjects("Charts that are allowed, of those that are kept elsewhere than in the bundle. Dependencies of charts in a bundle count, too.", map[string]schema.Attribute{
			"source":  framework.OptionalString("Pattern of the address with the name of the chart, such as `https://charts.example.com/*` or `oci://ghcr.io/acme/**`. Required.", framework.Required{}),
			"version": framework.OptionalString("Constraint for the version, such as `~1.2`. It is not checked for dependencies."),
		}),
		"namespaces": framework.OptionalStrings("Patterns of namespaces that are allowed: of the release, of each object, and of `Namespace` objects."),
		"service_accounts": framework.OptionalObject("The service accounts by which deployments may be applied.", map[string]schema.Attribute{
			"allowed":  framework.OptionalStrings("Patterns of names that are allowed."),
			"default":  framework.OptionalString("Name for deployments that have none. Of several policies, the first in the order of their names counts. Setting it deploys them again."),
			"required": framework.OptionalBool("Refuse deployments without a service account."),
		}),
		"allowed_kinds":    framework.OptionalStrings("Patterns of kinds that are allowed, such as `ConfigMap`, `Deployment.apps` or `*.monitoring.coreos.com`. A kind without its group matches in every group."),
		"denied_kinds":     framework.OptionalStrings("Patterns of kinds that are refused, such as `ClusterRole*`."),
		"cluster_scoped":   framework.OptionalBool("`false` refuses objects without a namespace."),
		"image_registries": framework.OptionalStrings("Patterns of registries such as `ghcr.io`, or with the repository such as `ghcr.io/acme/**`. All images of pod templates must match one of them. An image without a registry is in `docker.io`, such as `docker.io/library/nginx`."),
		"labels":           framework.OptionalStringMap("Labels that each object must have, with a pattern for the value."),
		"annotations":      framework.OptionalStringMap("Annotations that each object must have, with a pattern for the value."),
		"max_objects":      framework.OptionalNumber("How many objects a deployment may have, with its hooks and definitions."),
		"max_replicas":     framework.OptionalNumber("How large `spec.replicas`, and `spec.maxReplicas` of an autoscaler, may be."),
	}
}

// scopeAttribute is the attribute that selects the deployments of a policy.
func scopeAttribute(attributes map[string]schema.Attribute) schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{
		Optional:            true,
		MarkdownDescription: "Which deployments the policy is for. All attributes that are set must match. Required.",
		Attributes:          attributes,
		Validators:          []validator.Object{framework.Required{}, framework.Criteria{"all", "clusters", "bundles", "bundle_selector", "repositories"}},
	}
}

// restrictions warns of a policy that restricts nothing.
func restrictions(attributes map[string]schema.Attribute) framework.Options {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(attributes)), func(name string) bool { return name == "action" || name == "applies_to" })
}

type policyModel struct {
	Action          string              `tfsdk:"action"`
	AppliesTo       types.Object        `tfsdk:"applies_to"`
	Repositories    []string            `tfsdk:"repositories"`
	Charts          []chartPolicyModel  `tfsdk:"charts"`
	Namespaces      []string            `tfsdk:"namespaces"`
	ServiceAccounts *accountPolicyModel `tfsdk:"service_accounts"`
	AllowedKinds    []string            `tfsdk:"allowed_kinds"`
	DeniedKinds     []string            `tfsdk:"denied_kinds"`
	ClusterScoped   *bool               `tfsdk:"cluster_scoped"`
	ImageRegistries []string            `tfsdk:"image_registries"`
	Labels          map[string]string   `tfsdk:"labels"`
	Annotations     map[string]string   `tfsdk:"annotations"`
	MaxObjects      *int64              `tfsdk:"max_objects"`
	MaxReplicas     *int64              `tfsdk:"max_replicas"`
}

type chartPolicyModel struct {
	Source  string `tfsdk:"source"`
	Version string `tfsdk:"version"`
}

type accountPolicyModel struct {
	Allowed  []string `tfsdk:"allowed"`
	Default  string   `tfsdk:"default"`
	Required bool     `tfsdk:"required"`
}

type scopeModel struct {
	All            types.Bool   `tfsdk:"all"`
	Clusters       types.List   `tfsdk:"clusters"`
	Bundles        types.List   `tfsdk:"bundles"`
	BundleSelector types.Object `tfsdk:"bundle_selector"`
	Repositories   types.List   `tfsdk:"repositories"`
}

// policiesOf returns the policies. isKnown is false if something of them is not known yet.
func policiesOf(ctx context.Context, configured types.Map, fleet types.List, diags *diag.Diagnostics) (policies []policy.Policy, isKnown bool) {
	if framework.IsUnknownInside(ctx, configured) || framework.IsUnknownInside(ctx, fleet) {
		return nil, false
	}
	for name, value := range configured.Elements() {
		var model policyModel
		framework.AsPlain(ctx, value, &model, diags)
		made := model.policy(name)
		made.Scope = scopeOf(ctx, model.AppliesTo, diags)
		policies = append(policies, made)
	}
	translated, unused, err := policy.FromFleet(framework.Strings(ctx, fleet, diags))
	if err != nil {
		diagnostics.Add(diags, report.InvalidFleetPolicies(err))
	}
	diagnostics.Add(diags, report.UnusedFleetPolicies(unused))
	return append(policies, translated...), true
}

func (m policyModel) policy(name string) policy.Policy {
	made := policy.Policy{
		Name: name, Action: policy.Action(m.Action), Repositories: m.Repositories, Namespaces: m.Namespaces, Accounts: (*policy.ServiceAccounts)(m.ServiceAccounts),
		AllowedKinds: m.AllowedKinds, DeniedKinds: m.DeniedKinds, ClusterScoped: m.ClusterScoped, ImageRegistries: m.ImageRegistries,
		Labels: m.Labels, Annotations: m.Annotations, MaxObjects: m.MaxObjects, MaxReplicas: m.MaxReplicas,
	}
	if m.Charts != nil {
		made.Charts = []policy.Chart{}
	}
	for _, chart := range m.Charts {
		made.Charts = append(made.Charts, policy.Chart(chart))
	}
	return made
}

func scopeOf(ctx context.Context, value types.Object, diags *diag.Diagnostics) policy.Scope {
	if value.IsNull() {
		return policy.Scope{}
	}
	var model scopeModel
	diags.Append(framework.As(ctx, value, &model)...)
	scope := policy.Scope{
		Bundles:        framework.Strings(ctx, model.Bundles, diags),
		BundleSelector: fleetschema.SelectorOf(ctx, model.BundleSelector, diags),
		Repositories:   framework.Strings(ctx, model.Repositories, diags),
	}
	if !model.Clusters.IsNull() {
		scope.Clusters = fleetschema.RulesOf(ctx, model.Clusters, diags)
	}
	return scope
}
