package provider

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
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
)

var (
	_ resource.ResourceWithConfigure   = (*targetResource)(nil)
	_ resource.ResourceWithModifyPlan  = (*targetResource)(nil)
	_ resource.ResourceWithImportState = (*targetResource)(nil)
)

// targetResource owns the Helm releases of some bundles on some clusters.
type targetResource struct {
	named
	configured
}

func newTargetResource() resource.Resource { return &targetResource{named: named{"cluster_target"}} }

const (
	defaultTimeout    = "5m"
	defaultMaxHistory = 5
	// defaultOperation bounds a whole create, update or delete unless the
	// timeouts block says otherwise.
	defaultOperation = time.Hour
)

func (r *targetResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Owns the Helm releases of some bundles on some clusters: one release per bundle and cluster. " +
			"The plan shows each deployment and each object that is added, changed or removed; the apply does that and removes what left.",
		Attributes: map[string]schema.Attribute{
			"name": schema.StringAttribute{
				Required:            true,
				MarkdownDescription: "Name of the target, unique for the provider's `owner`: two targets of one name are an error. Another name marks the releases anew and deploys nothing.",
				Validators:          []validator.String{dnsLabel()},
			},
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
				MarkdownDescription: "Wait until the objects of each release are ready. Default `true`. " +
					"What another bundle depends on, or a rollout strategy counts, is waited for in any case while something is left that waits for it.",
			},
			"deployment_timeout": schema.StringAttribute{
				Optional: true, Computed: true, Default: stringdefault.StaticString(defaultTimeout),
				MarkdownDescription: "How long to wait for one deployment, unless its bundle has `helm.timeoutSeconds`. Default `5m`.",
				Validators:          []validator.String{duration()},
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
				MarkdownDescription: "Show in `objects` which objects change. Default `true`; `false` keeps plan and state small.",
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
			"values_wo":         valuesWriteOnlyAttribute(),
			"values_wo_version": writeOnlyVersionAttribute("values_wo"),
			"files_wo":          filesWriteOnlyAttribute(),
			"files_wo_version":  writeOnlyVersionAttribute("files_wo"),
			"id": schema.StringAttribute{
				Computed:            true,
				MarkdownDescription: "Random id of this target, with which it marks its releases.",
				PlanModifiers:       []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
			},
			"deployments": schema.MapNestedAttribute{
				Computed:            true,
				MarkdownDescription: "The deployments, by `cluster/bundle`.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"release":   schema.StringAttribute{Computed: true, MarkdownDescription: "Name of the Helm release."},
					"namespace": schema.StringAttribute{Computed: true, MarkdownDescription: "Namespace of the Helm release."},
					"chart":     schema.StringAttribute{Computed: true, MarkdownDescription: "Name of the chart."},
					"version":   schema.StringAttribute{Computed: true, MarkdownDescription: "Version of the chart."},
					"digest":    schema.StringAttribute{Computed: true, MarkdownDescription: "Covers everything the release is made from. Empty when the release on the cluster is not this provider's."},
					"state":     schema.StringAttribute{Computed: true, MarkdownDescription: "`Ready`, `NotReady`, `Modified`, `WaitApplied` or `ErrApplied`, as in Fleet."},
					"message":   schema.StringAttribute{Computed: true, MarkdownDescription: "Why, in one line of at most 120 bytes."},
				}},
			},
			"objects": schema.MapAttribute{
				Computed:    true,
				ElementType: objectsType(),
				MarkdownDescription: "The rendered objects of each deployment with a short hash of their content, hooks and `crds/` excepted. " +
					"Secrets show a hash of the deployment instead, and so does each object of a deployment with `valuesFrom`, `values_wo` or `files_wo`. Unknown while planning where what a chart gives can differ by then; a warning says why, see [How to trust a plan](../guides/plans.md).",
			},
			"records": recordsAttribute(),
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
			"ready_clusters": schema.StringAttribute{
				Computed:            true,
				MarkdownDescription: "On how many clusters all deployments are ready, such as `48/50`.",
			},
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

func (r *targetResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan targetModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	limit, diags := plan.Timeouts.Create(ctx, defaultOperation)
	resp.Diagnostics.Append(diags...)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	plan.ID = types.StringValue(rand.Text())
	before, left := &targetModel{}, r.fleet.successions.take(plan.Name.ValueString())
	if left.instance != "" {
		before = left.model()
		plan.ID = before.ID
	}
	resp.Diagnostics.Append(clearCreateLeg(ctx, resp.Private)...)
	begun := r.apply(ctx, req.Config, &plan, before, remembered{create: left.instance == "", uids: left.uids}, resp.Private, &resp.Diagnostics)
	if !begun && left.instance != "" {
		// What the replaced target left is in no other state.
		plan.takeOver(left)
		resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
		return
	}
	if resp.Diagnostics.HasError() && len(plan.records()) == 0 {
		// Nothing is there, so there is nothing to know. Terraform would taint what is
		// saved now, and with create_before_destroy remove what it was to replace.
		return
	}
	// What is true is saved whether all of it was wanted or not.
	if begun {
		resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
	}
}

func (r *targetResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state targetModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() || r.fleet == nil || r.fleet.clustersUnknown {
		return
	}
	state.looks = readLooks(ctx, req.Private, &resp.Diagnostics)
	uids := readClusters(ctx, req.Private, &resp.Diagnostics)
	r.fleet.instances.Store(state.ID.ValueString(), true)
	records := state.records()
	for key, record := range records { // A state of an earlier version has them in private state alone.
		record.Known.UID = cmp.Or(record.Known.UID, uids[key.Cluster])
		records[key] = record
	}
	known := readAbilities(ctx, req.Private, &resp.Diagnostics)
	abilities := r.fleet.lookAtAbilities(ctx, known)
	lost := state.lostReleases()
	observation := r.fleet.engine.Observe(ctx, state.holder(r.fleet), state.drift(), withLost(records, lost))
	r.fleet.logPanics(ctx, observation.Failures)
	failures := slices.DeleteFunc(observation.Failures, func(f deploy.Failure) bool { return r.fleet.expectsNoAnswer(f.Cluster) })
	addUnobserved(&resp.Diagnostics, state.Name.ValueString(), failures, r.fleet.onUnreachable == errorUnreachable)
	if resp.Diagnostics.HasError() {
		return
	}
	r.fleet.silent(failures)
	r.fleet.rememberUIDs(observation.UIDs)
	rememberClusters(ctx, req.Private, resp.Private, observation.UIDs, &resp.Diagnostics)
	r.fleet.rememberConnections(ctx, readConnections(ctx, req.Private, &resp.Diagnostics), resp.Private, records, &resp.Diagnostics)
	r.fleet.refreshVersions(ctx, req.Private, resp.Private, &resp.Diagnostics)
	abilities().remember(ctx, known, resp.Private, &resp.Diagnostics)
	rememberLooks(ctx, state.looks, resp.Private, observation.Records, state.PlanObjects.ValueBool(), &resp.Diagnostics)
	for key, known := range lost {
		if _, answered := observation.UIDs[key.Cluster]; !answered {
			delete(observation.Records, key)
			observation.Lost[key] = known
		}
	}
	if observation.AllSeen {
		rememberOrphans(ctx, req.Private, resp.Private, observation.Orphans, &resp.Diagnostics)
	}
	addDrift(&resp.Diagnostics, state.Name.ValueString(), observation)
	if state.lacksCounts() || state.Records.IsNull() || !maps.EqualFunc(records, observation.Records, deploy.Record.Equal) {
		state.lost = observation.Lost
		state.setRecords(observation.Records)
		resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
	}
}

func (r *targetResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var plan, prior targetModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &prior)...)
	if resp.Diagnostics.HasError() {
		return
	}
	limit, diags := plan.Timeouts.Update(ctx, defaultOperation)
	resp.Diagnostics.Append(diags...)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	resp.Diagnostics.Append(clearCreateLeg(ctx, resp.Private)...)
	known := readRemembered(ctx, req.Private, &resp.Diagnostics)
	prior.looks = readLooks(ctx, req.Private, &resp.Diagnostics)
	r.fleet.recall(ctx, req.Private, &resp.Diagnostics)
	if r.apply(ctx, req.Config, &plan, &prior, known, resp.Private, &resp.Diagnostics) {
		resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
	}
}

func (r *targetResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state targetModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	limit, diags := state.Timeouts.Delete(ctx, defaultOperation)
	resp.Diagnostics.Append(diags...)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	r.fleet.recall(ctx, req.Private, &resp.Diagnostics)
	state.looks = readLooks(ctx, req.Private, &resp.Diagnostics)
	name, records := state.Name.ValueString(), state.records()
	leg, diags := readCreateLeg(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	removals := leg.removals(records)
	if kept := len(records) - len(removals); kept > 0 {
		resp.Diagnostics.AddWarning(fmt.Sprintf("Target %s is replaced: %d releases stay for its replacement", name, kept),
			"They are adopted when it is created. If it cannot be created, import the target by its name: until then no state knows these releases.")
	}
	removals = r.forgetMissing(name, removals, &resp.Diagnostics)
	settings := state.settings(&resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	uids := readClusters(ctx, req.Private, &resp.Diagnostics)
	if leg.Planned {
		left := predecessor{instance: state.ID.ValueString(), records: without(records, removals), lost: state.lostReleases(), uids: uids}
		defer func() {
			if !resp.Diagnostics.HasError() {
				r.fleet.successions.leave(leg.Target, left)
			}
		}()
	}
	if len(removals) == 0 {
		return
	}
	outcome := r.fleet.engine.Apply(ctx, deploy.Request{
		Holder: state.holder(r.fleet),
		Remove: removals, Needs: readNeeds(ctx, req.Private, &resp.Diagnostics), Prior: records, Settings: settings,
		UIDs: r.fleet.expectedUIDs(uids, records),
	})
	r.forgetUnreachable(name, &outcome, &resp.Diagnostics)
	addNotices(&resp.Diagnostics, name, outcome.Notices)
	if len(outcome.Failures) == 0 {
		return
	}
	addFailures(&resp.Diagnostics, name, outcome)
	// What could not be removed stays in state, so that it is tried again; what
	// the Create leg of a replacement adopts stays as well.
	for _, key := range removals {
		if _, left := outcome.Records[key]; !left {
			delete(records, key)
		}
	}
	maps.Copy(records, outcome.Records)
	state.lost = state.lostReleases()
	state.setRecords(records)
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
}
