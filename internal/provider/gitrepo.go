package provider

import (
	"context"
	"encoding/json"
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/source"
)

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
func (f *fleet) pin(ctx context.Context, m gitRepoModel, stored string) (commit string, pinned bool, err error) {
	switch {
	case m.Repo.IsNull():
		return "", true, nil
	case fullCommit.MatchString(m.Revision.ValueString()):
		return m.Revision.ValueString(), true, nil
	case stored != "":
		return stored, true, nil
	}
	commit, err = f.git.Resolve(ctx, m.Repo.ValueString(), m.ref())
	return commit, false, err
}

// planGitRepo fills in the computed attributes of a plan. stored is the head of
// the branch that Read found, "" if it found none.
func (f *fleet) planGitRepo(ctx context.Context, plan *gitRepoModel, prior gitRepoModel, stored string, diags *diag.Diagnostics) {
	name := plan.Name.ValueString()
	commit, pinned, err := f.pin(ctx, *plan, stored)
	if err != nil {
		addSourceError(diags, name, err)
		return
	}
	generated, problems, err := f.source.Generate(ctx, plan.spec(ctx, commit, diags))
	addProblems(diags, name, problems)
	if err != nil {
		addSourceError(diags, name, err)
		return
	}
	kept := map[string]bundleElement{}
	if prior.Repo.Equal(plan.Repo) && prior.Directory.Equal(plan.Directory) {
		kept = elementsOf(prior.Bundles)
	}
	elements, changed := merge(f.charts, generated, kept, pinned, diags)
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

// settleGitRepo makes everything known that a plan left open. What the plan knew
// stays as it was planned.
func (f *fleet) settleGitRepo(ctx context.Context, plan *gitRepoModel, diags *diag.Diagnostics) {
	name := plan.Name.ValueString()
	stored := ""
	if !plan.Commit.IsUnknown() {
		stored = plan.Commit.ValueString()
	}
	commit, _, err := f.pin(ctx, *plan, stored)
	if err != nil {
		addSourceError(diags, name, err)
		return
	}
	if anyUnknown(ctx, plan.Bundles) {
		f.settleBundles(ctx, plan, commit, diags)
	}
	if plan.Commit.IsUnknown() {
		plan.Commit = types.StringValue(commit)
	}
	if plan.Repo.IsNull() {
		plan.Commit = types.StringNull()
	}
}

func (f *fleet) settleBundles(ctx context.Context, plan *gitRepoModel, commit string, diags *diag.Diagnostics) {
	name := plan.Name.ValueString()
	generated, _, err := f.source.Generate(ctx, plan.spec(ctx, commit, diags))
	if err != nil {
		addSourceError(diags, name, err)
		return
	}
	elements, _ := merge(f.charts, generated, nil, true, diags)
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
