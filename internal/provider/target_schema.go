package provider

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
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
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetschema"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
)

const (
	defaultTimeout    = "5m"
	defaultMaxHistory = 5
	defaultReadyFor   = "5s"
	// maxConsents limits the patterns of take_ownership_of.
	maxConsents = 1000
	// defaultOperation limits a whole create, update or delete if the timeouts block sets no limit.
	defaultOperation = time.Hour
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
			"The plan shows each deployment and each object that is added, changed or removed. The apply does exactly that, including the removals.",
		Attributes: map[string]schema.Attribute{
			"name": framework.RequiredString("Name of the target, unique for the provider's `owner`. The plan fails if it has two targets of one name. If another state has the target, its create fails before it writes. Changing the name only changes labels of the release records.", framework.DNSLabel()),
			"bundles": schema.ListAttribute{
				Required: true, Sensitive: true,
				ElementType:         types.MapType{ElemType: bundleObjectType()},
				MarkdownDescription: "The bundles: a list of `bundles` attributes of `fleet_gitrepo` and `fleet_bundle`. A bundle name must not occur twice. Sensitive as a whole, so that a plan shows one line; `contents` of these resources shows what changes.",
			},
			"targets": schema.ListNestedAttribute{
				Required: true,
				MarkdownDescription: "Rules that select clusters. A cluster is selected if any rule matches it. All criteria of a rule must match, " +
					"and one of them must be set.",
				NestedObject: fleetschema.Rules(fleetschema.Rule()),
			},
			"wait": schema.BoolAttribute{
				Optional: true, Computed: true, Default: booldefault.StaticBool(true),
				MarkdownDescription: "Wait until the objects of each release are ready. Default `true`. A bundle with `helm.atomic` always waits. " +
					"A bundle also always waits while another bundle that depends on it, or its rollout strategy, has deployments left to start.",
			},
			"deployment_timeout": schema.StringAttribute{
				Optional: true, Computed: true, Default: stringdefault.StaticString(defaultTimeout),
				MarkdownDescription: "How long to wait for one deployment, unless its bundle has `helm.timeoutSeconds`. Default `5m`. " +
					"`helm.timeoutSeconds` is limited to half of `timeouts`, or to `deployment_timeout` if that is longer. The plan warns of a bundle that sets more.",
				Validators: []validator.String{framework.Duration()},
			},
			"ready_for": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "How long a container without a readiness probe has to run without a restart until its Deployment, StatefulSet or DaemonSet counts as ready. " +
					"Default `5s`. The kubelet reports such a container as ready as soon as it has started, also one that ends a moment later. The third restart fails the deployment. " +
					"It counts for objects that an apply changes. A container with a readiness probe is ready when the probe succeeds. " +
					"`0s` believes all containers at once, as Helm does. Without effect with `wait = false`. The identity needs `list` of pods and of replicasets.",
				Validators: []validator.String{framework.DurationFromZero()},
			},
			"explain_logs": schema.BoolAttribute{
				Optional: true,
				MarkdownDescription: "Add the last 10 lines of the log of a container that has failed to the error of an apply: at most 3 containers, 2 KiB each. " +
					"Default `false`. Secrets that the provider knows are hidden there. A program can print others, such as what it reads from a Secret of the cluster. " +
					"The identity needs `get` of `pods/log`. Without this right, the error has no log.",
			},
			"max_history": schema.Int64Attribute{
				Optional: true, Computed: true, Default: int64default.StaticInt64(defaultMaxHistory),
				MarkdownDescription: "Revisions to keep of each release. Default 5. Revisions that failed since the last deployed one are kept, too, if their contents differ.",
				Validators:          []validator.Int64{int64validator.AtLeast(1)},
			},
			"take_ownership": schema.BoolAttribute{
				Optional: true, Computed: true, Default: booldefault.StaticBool(false),
				MarkdownDescription: "Take over releases and objects that belong to others: another owner, Fleet's agent, plain Helm or nobody. The plan lists them. Default `false`: the plan warns, the apply fails for their deployments, and all others are applied. `take_ownership_of` permits it for some deployments only.",
			},
			"take_ownership_of": schema.SetAttribute{
				Optional: true, ElementType: types.StringType,
				MarkdownDescription: "The deployments that take over releases and objects of others, as patterns of `cluster/bundle`, such as `eu-1/web` or `eu-*/web`. " +
					"`*` matches any text without a slash. In place of `take_ownership`: all other deployments take over nothing. The plan warns of a pattern that matches no deployment.",
				Validators: []validator.Set{
					setvalidator.ConflictsWith(path.MatchRoot("take_ownership")), setvalidator.SizeAtMost(maxConsents), setvalidator.ValueStringsAre(deploymentPattern()),
				},
			},
			"adoption_key": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "A value that only this state has, such as the `id` of a `terraform_data` resource that an earlier apply created. Its hash is a label of the release records. " +
					"A target adopts releases of the provider's `owner` with the same key automatically: after a killed create, with `create_before_destroy`, " +
					"and releases of another target with this key. Do not use a literal: every copy of the configuration contains it.",
			},
			"allow_empty": schema.BoolAttribute{
				Optional: true, Computed: true, Default: booldefault.StaticBool(false),
				MarkdownDescription: "Allow a change that removes all deployments. Default `false`: a selector that stops matching is usually a mistake.",
			},
			"max_removals": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "How many deployments a change may remove: a number, or a percentage of the existing deployments, such as `10%`. " +
					"More is an error while planning. Default: any number. It does not apply to the destruction of the target.",
				Validators: []validator.String{removals()},
			},
			"deletion_protection": schema.BoolAttribute{
				Optional: true, Computed: true, Default: booldefault.StaticBool(false),
				MarkdownDescription: "Planning the destruction of the target is an error. To destroy it, first apply `false`. Default `false`.",
			},
			"plan_objects": schema.BoolAttribute{
				Optional: true, Computed: true, Default: booldefault.StaticBool(true),
				MarkdownDescription: "Show in `objects` which objects change. Default `true`; `false` keeps plan and state small. A plan then warns of objects of other owners only for new releases, not for upgrades.",
			},
			"drift": schema.StringAttribute{
				Optional: true, Computed: true, Default: stringdefault.StaticString(string(deploy.DriftLive)),
				MarkdownDescription: "How much a refresh reads. `live` (default) compares live objects with what was deployed, field by field of the manifest: " +
					"fields that a cluster adds or others own are no drift. `release` compares release records and needs no permission to read objects. " +
					"`none` only checks that each release exists. The next apply corrects drift, unless the bundle has `correctDrift.enabled: false`.",
				Validators: []validator.String{stringvalidator.OneOf(string(deploy.DriftLive), string(deploy.DriftRelease), string(deploy.DriftNone))},
			},
			"diff": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "What a plan shows of the changes in objects. `auto` (default): the changed lines, without values of Secrets and without texts of the Terraform configuration, because they can be sensitive. " +
					"`rendered`: also these texts, and objects that are added or removed. `summary`: nothing. Changing this setting deploys nothing. " +
					"[Plans in detail](../guides/plan-details.md#what-changes-in-the-objects) has the details.",
				Validators: []validator.String{stringvalidator.OneOf(string(plan.DiffAuto), string(plan.DiffRendered), string(plan.DiffSummary))},
			},
			"on_error": onErrorAttribute("What a plan does with a deployment that cannot be rendered: a template fails, values do not match the schema of the chart, or two releases have one name. " +
				"`stop` (default): the plan fails. `hold`: the deployment stays as it is, or is not installed. The plan warns with the cause, and all other deployments proceed. " +
				"A rollout strategy counts it as unavailable, and bundles that depend on it are also held."),
			"crds":              fleetschema.CRDs("A bundle's `helm.crds` takes precedence. `create_replace` applies only to bundles without `namespace`: a bundle that is restricted to a namespace must not replace definitions of others. Default: `create`. When it changes, only bundles with such definitions are deployed again."),
			"values_wo":         valuesWriteOnlyAttribute(),
			"values_wo_version": writeOnlyVersionAttribute("values_wo"),
			"files_wo":          filesWriteOnlyAttribute(),
			"files_wo_version":  writeOnlyVersionAttribute("files_wo"),
			"id": schema.StringAttribute{
				Computed:            true,
				MarkdownDescription: "Random id of this target, a label of its release records.",
				PlanModifiers:       []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
			},
			"deployments": schema.MapAttribute{
				Computed: true, ElementType: types.StringType,
				MarkdownDescription: "The deployments, by `cluster/bundle`. Each is three words: chart and version (the name alone if the bundle has no chart), namespace and name of the Helm release, and the first 8 digits of its digest, " +
					"such as `web-1.0.0 shop/web ac881d87`. The digest covers all input of the release. In place of these digits is `-` if the release on the cluster is not from this provider.",
			},
			"objects": schema.MapAttribute{
				Computed: true, ElementType: types.StringType,
				MarkdownDescription: "The rendered objects with a short hash of their content, by `cluster/bundle kind.group/namespace/name`, such as `eu-1/web Deployment.apps/shop/web`. Hooks and `crds/` are excepted. " +
					"Secrets show a hash of the deployment instead, as does each object of a deployment with `valuesFrom`, `values_wo` or `files_wo`. " +
					"If the objects of a chart can differ in the apply, the deployment has one element, by `cluster/bundle`. It is known after the apply, such as `14 objects 0123456789ab`. " +
					"A warning has the reason, see [What a plan cannot know](../guides/unknown-objects.md).",
			},
			"not_ready": schema.MapAttribute{
				Computed: true, ElementType: types.StringType,
				MarkdownDescription: "The deployments that are not ready, by `cluster/bundle`, each with its state and the reason in one line, as in Fleet: `NotReady: …`, `Modified: …`, `ErrApplied: …`. " +
					"`WaitApplied` is a deployment that the last change held. Empty if all deployments are ready. Unknown while planning if the apply does not wait for a changed deployment. " +
					"`fleet_deployments` returns the states in full.",
			},
			"clusters": schema.MapAttribute{
				Computed: true, ElementType: types.StringType,
				MarkdownDescription: "How many deployments and objects are ready, by cluster, such as `3/3 deployments, 41/41 objects`, with the number of objects that are not: " +
					"`2/3 deployments, 38/41 objects, 1 modified, 2 missing`. Hooks and `crds/` are excepted.",
			},
			// The data for a removal is in the state and not in private state: Terraform does not
			// pass private state to the Delete of a tainted resource. Each record is one text: the
			// framework visits every attribute several times in each plan.
			"records": schema.MapAttribute{
				Computed: true, Sensitive: true, ElementType: types.StringType,
				MarkdownDescription: "What the provider knows of each release, as JSON by `cluster/bundle`. Only these releases are ever removed, and only with the data stored here: " +
					"anybody may have written a release record in a cluster. A release that a failed move left behind has the key `cluster/bundle namespace/release`.",
			},
			"planned": schema.StringAttribute{
				Computed: true, Sensitive: true,
				MarkdownDescription: "What the last plan with a change decided about each deployment, compressed. For the provider only: an apply reads it, and no text for people.",
			},
		},
		Blocks: map[string]schema.Block{
			"timeouts": timeouts.Block(ctx, timeouts.Opts{
				Create: true, CreateDescription: "How long the whole create may take, a duration such as `30m` or `1h30m`. Default `1h`.",
				Update: true, UpdateDescription: "How long a whole update may take. Default `1h`.",
				Delete: true, DeleteDescription: "How long the whole destruction may take. Default `1h`. It counts when an apply has stored it in the state.",
			}),
		},
	}
}
