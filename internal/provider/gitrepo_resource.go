package provider

import (
	"context"
	"encoding/json"
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/source"
)

var (
	_ resource.ResourceWithConfigure  = (*gitRepoResource)(nil)
	_ resource.ResourceWithModifyPlan = (*gitRepoResource)(nil)
)

// gitRepoResource makes bundles of a git repository. It touches no cluster.
type gitRepoResource struct {
	named
	configured
}

func newGitRepoResource() resource.Resource { return &gitRepoResource{named: named{"gitrepo"}} }

func (r *gitRepoResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Makes bundles of a git repository or a local folder, as Fleet's `GitRepo` does. " +
			"No cluster is touched: hand `bundles` to a `fleet_cluster_target`.",
		Attributes: map[string]schema.Attribute{
			"name": schema.StringAttribute{
				Required:            true,
				MarkdownDescription: "Name of the GitRepo. The names of its bundles begin with it.",
				Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
			},
			"repo": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "URL of the repository: `https://`, `http://`, `ssh://` or `user@host:path`. Exactly one of `repo` and `directory`.",
				Validators: []validator.String{
					stringvalidator.ExactlyOneOf(path.MatchRoot("repo"), path.MatchRoot("directory")),
					stringvalidator.LengthAtLeast(1),
				},
			},
			"directory": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "A local folder instead of a repository, such as a checkout. Plan and apply must see the same content.",
			},
			"branch": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "Branch to follow. Without `branch` and `revision` the repository's default branch is followed. " +
					"What was planned is applied even when the branch has moved on, except by a saved plan that creates this resource: " +
					"pin that with a full commit in `revision`.",
				Validators: []validator.String{
					stringvalidator.ConflictsWith(path.MatchRoot("revision"), path.MatchRoot("directory")),
					stringvalidator.LengthAtLeast(1),
				},
			},
			"revision": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Commit or tag.",
				Validators: []validator.String{
					stringvalidator.ConflictsWith(path.MatchRoot("directory")),
					stringvalidator.LengthAtLeast(1),
				},
			},
			"paths": schema.ListAttribute{
				Optional: true, ElementType: types.StringType,
				MarkdownDescription: "Folders to look for bundles in; `*`, `?` and `[]` match names. Default: the root.",
			},
			"strict": schema.BoolAttribute{
				Optional:            true,
				MarkdownDescription: "Whether an unknown key in a fleet.yaml is an error. Default `true`; `false` makes it a warning.",
			},
			"target_namespace": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Namespace that all objects of all bundles are put into.",
			},
			"labels": schema.MapAttribute{
				Optional: true, ElementType: types.StringType,
				MarkdownDescription: "Labels of all bundles.",
			},
			"force_sync_generation": schema.Int64Attribute{
				Optional:            true,
				MarkdownDescription: "Another number deploys all bundles again.",
			},
			"commit": schema.StringAttribute{
				Computed:            true,
				MarkdownDescription: "The commit whose content was last found to change a bundle. Null for a `directory`.",
			},
			"bundles": bundlesAttribute(),
		},
	}
}

type gitRepoModel struct {
	Name                types.String `tfsdk:"name"`
	Repo                types.String `tfsdk:"repo"`
	Directory           types.String `tfsdk:"directory"`
	Branch              types.String `tfsdk:"branch"`
	Revision            types.String `tfsdk:"revision"`
	Paths               types.List   `tfsdk:"paths"`
	Strict              types.Bool   `tfsdk:"strict"`
	TargetNamespace     types.String `tfsdk:"target_namespace"`
	Labels              types.Map    `tfsdk:"labels"`
	ForceSyncGeneration types.Int64  `tfsdk:"force_sync_generation"`
	Commit              types.String `tfsdk:"commit"`
	Bundles             types.Map    `tfsdk:"bundles"`
}

// known says whether everything a plan needs is known.
func (m gitRepoModel) known(ctx context.Context) bool {
	return !anyUnknown(ctx, m.Name, m.Repo, m.Directory, m.Branch, m.Revision, m.Paths, m.Strict, m.TargetNamespace, m.Labels, m.ForceSyncGeneration)
}

// spec leaves Terraform. commit is "" for a directory.
func (m gitRepoModel) spec(ctx context.Context, commit string, diags *diag.Diagnostics) source.Spec {
	spec := source.Spec{
		Directory: m.Directory.ValueString(),
		Read: &bundle.ReadOptions{
			RepoName: m.Name.ValueString(),
			Paths:    stringsOf(ctx, m.Paths, diags),
			Strict:   m.Strict.IsNull() || m.Strict.ValueBool(),
			Overlay: bundle.Overlay{
				TargetNamespace:     m.TargetNamespace.ValueString(),
				Labels:              stringMapOf(ctx, m.Labels, diags),
				ForceSyncGeneration: m.ForceSyncGeneration.ValueInt64(),
			},
		},
	}
	if !m.Repo.IsNull() {
		ref := m.ref()
		spec.Git = &source.Checkout{Repo: m.Repo.ValueString(), Commit: commit, Branch: ref.Branch, Revision: ref.Revision}
	}
	return spec
}

func (m gitRepoModel) ref() source.Ref {
	return source.Ref{Branch: m.Branch.ValueString(), Revision: m.Revision.ValueString()}
}

// head is where a branch pointed when it was last read. It lives in private
// state: Read finds it out, and planning takes it from there, at plan and at
// apply alike.
type head struct {
	Repo   string     `json:"repo"`
	Ref    source.Ref `json:"ref"`
	Commit string     `json:"commit"`
}

const headKey = "head"

func (m gitRepoModel) head(commit string) head {
	return head{Repo: m.Repo.ValueString(), Ref: m.ref(), Commit: commit}
}

// privateState is what a request or response keeps beside the state.
type privateState interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

// storedHead reads the head, if it was stored for what m asks for.
func (m gitRepoModel) storedHead(ctx context.Context, private interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}, diags *diag.Diagnostics,
) string {
	raw, found := private.GetKey(ctx, headKey)
	diags.Append(found...)
	var stored head
	if len(raw) == 0 || json.Unmarshal(raw, &stored) != nil || stored != m.head(stored.Commit) {
		return ""
	}
	return stored.Commit
}

func (m gitRepoModel) storeHead(ctx context.Context, private privateState, commit string, diags *diag.Diagnostics) {
	raw, err := json.Marshal(m.head(commit))
	if err != nil {
		diags.AddError("Cannot store the head of "+m.Name.ValueString(), sentence(err))
		return
	}
	diags.Append(private.SetKey(ctx, headKey, raw)...)
}

var fullCommit = regexp.MustCompile(`^[0-9a-f]{40}$`)

// pin is the commit to plan with. pinned says whether an apply is sure to see
// the same one; it is not when a branch was followed just now.
func (r *gitRepoResource) pin(ctx context.Context, m gitRepoModel, stored string) (commit string, pinned bool, err error) {
	switch {
	case m.Repo.IsNull():
		return "", true, nil
	case fullCommit.MatchString(m.Revision.ValueString()):
		return m.Revision.ValueString(), true, nil
	case stored != "":
		return stored, true, nil
	}
	commit, err = r.fleet.git.Resolve(ctx, m.Repo.ValueString(), m.ref())
	return commit, false, err
}

func (r *gitRepoResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() || r.fleet == nil {
		return
	}
	var plan, prior gitRepoModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if !req.State.Raw.IsNull() {
		resp.Diagnostics.Append(req.State.Get(ctx, &prior)...)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	plan.Commit, plan.Bundles = types.StringUnknown(), types.MapUnknown(bundleObjectType())
	if plan.known(ctx) && !r.fleet.gitUnknown {
		stored := plan.storedHead(ctx, req.Private, &resp.Diagnostics)
		r.generate(ctx, &plan, prior, stored, &resp.Diagnostics)
	}
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
	}
}

// generate fills in the computed attributes of a plan.
func (r *gitRepoResource) generate(ctx context.Context, plan *gitRepoModel, prior gitRepoModel, stored string, diags *diag.Diagnostics) {
	name := plan.Name.ValueString()
	commit, pinned, err := r.pin(ctx, *plan, stored)
	if err != nil {
		addSourceError(diags, name, err)
		return
	}
	generated, problems, err := r.fleet.source.Generate(ctx, plan.spec(ctx, commit, diags))
	addProblems(diags, name, problems)
	if err != nil {
		addSourceError(diags, name, err)
		return
	}
	kept := map[string]bundleElement{}
	if prior.Repo.Equal(plan.Repo) && prior.Directory.Equal(plan.Directory) {
		kept = elementsOf(prior.Bundles)
	}
	elements, changed := merge(r.fleet.charts, generated, kept, pinned, diags)
	plan.Bundles = bundlesOf(elements)
	switch {
	case plan.Repo.IsNull():
		plan.Commit = types.StringNull()
	case !changed && plan.ref() == prior.ref():
		plan.Commit = prior.Commit
	case pinned:
		plan.Commit = types.StringValue(commit)
	}
}

// settle makes everything known that a plan left open. What the plan knew stays
// as it was planned.
func (r *gitRepoResource) settle(ctx context.Context, plan *gitRepoModel, private privateState, diags *diag.Diagnostics) {
	name := plan.Name.ValueString()
	stored := ""
	if !plan.Commit.IsUnknown() {
		stored = plan.Commit.ValueString()
	}
	commit, _, err := r.pin(ctx, *plan, stored)
	if err != nil {
		addSourceError(diags, name, err)
		return
	}
	if anyUnknown(ctx, plan.Bundles) {
		r.settleBundles(ctx, plan, commit, diags)
	}
	if plan.Commit.IsUnknown() {
		plan.Commit = types.StringValue(commit)
		plan.storeHead(ctx, private, commit, diags)
	}
}

func (r *gitRepoResource) settleBundles(ctx context.Context, plan *gitRepoModel, commit string, diags *diag.Diagnostics) {
	name := plan.Name.ValueString()
	generated, _, err := r.fleet.source.Generate(ctx, plan.spec(ctx, commit, diags))
	if err != nil {
		addSourceError(diags, name, err)
		return
	}
	elements, _ := merge(r.fleet.charts, generated, nil, true, diags)
	if plan.Bundles.IsUnknown() {
		plan.Bundles = bundlesOf(elements)
		return
	}
	planned := elementsOf(plan.Bundles)
	for key, element := range planned {
		if !element.Descriptor.IsUnknown() {
			continue
		}
		made, ok := elements[key]
		if !ok || !made.Digest.Equal(element.Digest) {
			diags.AddError("Repository of "+name+" changed since it was planned",
				"Bundle "+key+" is not what was planned. No cluster was touched for it. Plan and apply again.")
			return
		}
		planned[key] = made
	}
	plan.Bundles = bundlesOf(planned)
}

func (r *gitRepoResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan gitRepoModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	r.settle(ctx, &plan, resp.Private, &resp.Diagnostics)
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
	}
}

func (r *gitRepoResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state gitRepoModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() || state.Repo.IsNull() || r.fleet == nil || r.fleet.gitUnknown {
		return
	}
	if fullCommit.MatchString(state.Revision.ValueString()) {
		return
	}
	commit, err := r.fleet.git.Resolve(ctx, state.Repo.ValueString(), state.ref())
	if err != nil {
		resp.Diagnostics.AddWarning("Cannot look for new commits of "+state.Name.ValueString(),
			sentence(err)+" The commit that is known stays in force.")
		return
	}
	// Writing private state raises the serial of the state, so it is written
	// only when there is something to say.
	if state.storedHead(ctx, req.Private, &resp.Diagnostics) != commit {
		state.storeHead(ctx, resp.Private, commit, &resp.Diagnostics)
	}
}

func (r *gitRepoResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var plan gitRepoModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	r.settle(ctx, &plan, resp.Private, &resp.Diagnostics)
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
	}
}

// Delete has nothing to do: bundles are removed from clusters by their targets.
func (r *gitRepoResource) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}
