package provider

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
)

const (
	defaultTimeout    = "5m"
	defaultMaxHistory = 5
	// defaultOperation bounds a whole create, update or delete unless the
	// timeouts block says otherwise.
	defaultOperation = time.Hour
)

// The values of diff.
const (
	diffSummary  = "summary"
	diffRendered = "rendered"
)

// The values of on_error.
const (
	onErrorStop = "stop"
	onErrorHold = "hold"
)

func onErrorAttribute(description string) schema.StringAttribute {
	return schema.StringAttribute{
		Optional:            true,
		MarkdownDescription: description,
		Validators:          []validator.String{stringvalidator.OneOf(onErrorStop, onErrorHold)},
	}
}

func (r *targetResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Owns the Helm releases of some bundles on some clusters: one release per bundle and cluster. " +
			"The plan shows each deployment and each object that is added, changed or removed; the apply does that and removes what left.",
		Attributes: map[string]schema.Attribute{
			"name": framework.RequiredString("Name of the target, unique for the provider's `owner`: two targets of one name are an error. Another name marks the releases anew and deploys nothing.", framework.DNSLabel()),
			"bundles": schema.ListAttribute{
				Required:            true,
				ElementType:         types.MapType{ElemType: bundleObjectType()},
				MarkdownDescription: "The bundles: a list of `bundles` attributes of `fleet_gitrepo` and `fleet_bundle`. A bundle name must not occur twice.",
			},
			"targets": schema.ListNestedAttribute{
				Required: true,
				MarkdownDescription: "Rules that select clusters. A cluster is in when any rule matches it; all criteria of a rule must hold, " +
					"and a rule without any matches nothing.",
				NestedObject: schema.NestedAttributeObject{Attributes: ruleAttributes()},
			},
			"wait": schema.BoolAttribute{
				Optional: true, Computed: true, Default: booldefault.StaticBool(true),
				MarkdownDescription: "Wait until the objects of each release are ready. Default `true`. A bundle with `helm.atomic` is waited for in any case. " +
					"What another bundle depends on, or a rollout strategy counts, is waited for in any case while something is left that waits for it.",
			},
			"deployment_timeout": schema.StringAttribute{
				Optional: true, Computed: true, Default: stringdefault.StaticString(defaultTimeout),
				MarkdownDescription: "How long to wait for one deployment, unless its bundle has `helm.timeoutSeconds`. Default `5m`.",
				Validators:          []validator.String{framework.Duration()},
			},
			"max_history": schema.Int64Attribute{
				Optional: true, Computed: true, Default: int64default.StaticInt64(defaultMaxHistory),
				MarkdownDescription: "Revisions kept of each release. Default 5.",
				Validators:          []validator.Int64{int64validator.AtLeast(1)},
			},
			"take_ownership": schema.BoolAttribute{
				Optional: true, Computed: true, Default: booldefault.StaticBool(false),
				MarkdownDescription: "Take over releases and objects that belong to somebody else: another owner, Fleet's agent, plain Helm or nobody. The plan lists them. Default `false`: they are an error.",
			},
			"adoption_key": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "A value that only this state has, such as the `id` of a `terraform_data` resource that an earlier apply made. Its hash stands on the release records. " +
					"A target takes up releases of the provider's `owner` with the same key without being asked: after a create that was killed, with `create_before_destroy`, " +
					"and those that another target with this key has had. A literal is no such value: every copy of the configuration has it too.",
			},
			"allow_empty": schema.BoolAttribute{
				Optional: true, Computed: true, Default: booldefault.StaticBool(false),
				MarkdownDescription: "Allow a change that leaves no deployment at all. Default `false`: a selector that stops matching is more often a mistake.",
			},
			"max_removals": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "How many deployments a change may remove: a number, or a percentage of those there are, such as `10%`. " +
					"More is an error while planning. Default: any number. Does not concern the destruction of the target.",
				Validators: []validator.String{removals()},
			},
			"deletion_protection": schema.BoolAttribute{
				Optional: true, Computed: true, Default: booldefault.StaticBool(false),
				MarkdownDescription: "Make it an error to plan the destruction of the target. To destroy it, first apply `false`. Default `false`.",
			},
			"plan_objects": schema.BoolAttribute{
				Optional: true, Computed: true, Default: booldefault.StaticBool(true),
				MarkdownDescription: "Show in `objects` which objects change. Default `true`; `false` keeps plan and state small. A plan then does not warn of objects of others that an upgrade is to take over, only of those of new releases.",
			},
			"drift": schema.StringAttribute{
				Optional: true, Computed: true, Default: stringdefault.StaticString(string(deploy.DriftLive)),
				MarkdownDescription: "How closely a refresh looks. `live` (default) compares live objects with what was deployed, field by field of the manifest: " +
					"what a cluster adds or others own is no drift. `release` compares release records and needs no right to read objects. " +
					"`none` only looks whether each release is there. What differs is put right by the next apply, unless the bundle has `correctDrift.enabled: false`.",
				Validators: []validator.String{stringvalidator.OneOf(string(deploy.DriftLive), string(deploy.DriftRelease), string(deploy.DriftNone))},
			},
			"diff": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "What a plan shows of a change beside the names of objects. `summary` (default): nothing more. `rendered`: a warning with a unified diff of the rendered objects " +
					"of each deployment that changes, equal ones of several clusters once. Values of Secrets are masked, and so is everything in deployments whose values come from the cluster or are write-only; " +
					"the value of a sensitive variable can show through another object, such as a ConfigMap. Another setting deploys nothing.",
				Validators: []validator.String{stringvalidator.OneOf(diffSummary, diffRendered)},
			},
			"on_error": onErrorAttribute("What a plan does with a deployment that cannot be made: a template fails, values do not match the schema of the chart, or two releases have one name. " +
				"`stop` (default): the plan fails. `hold`: the deployment stays as it is, or is not begun. The plan warns of it with the cause, and everything else proceeds. " +
				"A rollout strategy counts it as unavailable, and bundles that depend on it are held, too."),
			"crds":              crdsAttribute("A bundle's `helm.crds` takes precedence. `create_replace` holds for bundles without `namespace` only, as one that is restricted to a namespace must not replace the definitions of others. Default: `create`. Only bundles with such definitions are deployed again when it changes."),
			"values_wo":         valuesWriteOnlyAttribute(),
			"values_wo_version": writeOnlyVersionAttribute("values_wo"),
			"files_wo":          filesWriteOnlyAttribute(),
			"files_wo_version":  writeOnlyVersionAttribute("files_wo"),
			"id": schema.StringAttribute{
				Computed:            true,
				MarkdownDescription: "Random id of this target, with which it marks its releases.",
				PlanModifiers:       []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
			},
			// An attribute of objects, not of nested attributes: the framework then does not walk
			// through every value of every deployment, several times in each plan.
			"deployments": schema.MapAttribute{
				Computed:    true,
				ElementType: deploymentType(),
				MarkdownDescription: "The deployments, by `cluster/bundle`: `release` and `namespace` of the Helm release, `chart` and `version`, " +
					"`digest`, which covers everything the release is made from and is empty when the release on the cluster is not this provider's, " +
					"`state`, which is `Ready`, `NotReady`, `Modified`, `WaitApplied` or `ErrApplied`, as in Fleet, " +
					"and `message`, why, in one line of at most 120 bytes.",
			},
			"objects": schema.MapAttribute{
				Computed:    true,
				ElementType: objectsType(),
				MarkdownDescription: "The rendered objects of each deployment with a short hash of their content, hooks and `crds/` excepted. " +
					"Secrets show a hash of the deployment instead, and so does each object of a deployment with `valuesFrom`, `values_wo` or `files_wo`. Unknown while planning where what a chart gives can differ by then; a warning says why, see [How to trust a plan](../guides/plans.md).",
			},
			// What a removal needs stands in the state and not in private state: the Delete of a
			// tainted resource is not given the stored private state. Each record is one text:
			// the framework visits every attribute several times in each plan.
			"records": schema.MapAttribute{
				Computed: true, Sensitive: true, ElementType: types.StringType,
				MarkdownDescription: "What the provider knows of each release, as JSON by `cluster/bundle`. Only these releases are ever removed, and only as it stands here: " +
					"a release record in a cluster may be anybody's. A release that a failed move left behind has the key `cluster/bundle namespace/release`.",
			},
			"summary": schema.StringAttribute{
				Computed: true,
				MarkdownDescription: "The last change in short: deployments added, changed, removed and kept, such as `+2 ~1 -3 =494`. " +
					"Deployments that were left as they are although something else is wanted are named at its end: `+2 ~1 -3 =494, 5 held`.",
			},
			"stages": schema.StringAttribute{
				Computed: true,
				MarkdownDescription: "The order of the last change in words, as `dependsOn` and `rolloutStrategy` make it: what is deployed after what, if all goes well, " +
					"what is held from the beginning, because it is paused, in no partition, or more than the rollout strategy allows, and what is removed.",
			},
			"ready_clusters": framework.ComputedString("On how many clusters all deployments are ready, such as `48/50`."),
			"ready": schema.Int64Attribute{
				Computed: true, MarkdownDescription: "How many deployments are `Ready`.",
			},
			"failed": schema.Int64Attribute{
				Computed: true, MarkdownDescription: "How many deployments are `ErrApplied`.",
			},
			"resource_counts": schema.SingleNestedAttribute{
				Computed: true, Attributes: countsAttributes(),
				MarkdownDescription: "The objects of all deployments, hooks and `crds/` excepted, each counted once, as they were when last looked at.",
			},
			"cluster_resource_counts": schema.MapNestedAttribute{
				Computed: true, NestedObject: schema.NestedAttributeObject{Attributes: countsAttributes()},
				MarkdownDescription: "The same by cluster.",
			},
		},
		Blocks: map[string]schema.Block{
			"timeouts": timeouts.Block(ctx, timeouts.Opts{Create: true, Update: true, Delete: true}),
		},
	}
}
