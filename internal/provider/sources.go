package provider

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/chart"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diagnostics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/git"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/policy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/protocol"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/sops"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/source"
)

// request is the input from which a resource makes bundles.
type request struct {
	source.Request
	// name is the name of the resource.
	name string
	// at is the attribute with the source of the bundles.
	at string
	// follows is true if newer versions of charts are deployed.
	follows bool
}

// planBundles makes the bundles of a plan. It returns nil if they cannot be made, or cannot be made yet.
// wanted is nil if a value that the plan needs is not known yet.
func (p *providerData) planBundles(ctx context.Context, wanted *request, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) *source.Planned {
	diags := &resp.Diagnostics
	if wanted == nil || diags.HasError() {
		return nil
	}
	private := planPrivate(ctx, req.Private)
	if req.State.Raw.IsNull() {
		// Terraform passes the private state to the first plan of a replacement, and not to the plan
		// before its apply.
		private = keptPrivate(protocol.PlannedPrivate(ctx).Private)
	}
	stored := wanted.addPinned(ctx, private, diags)
	wanted.Kept = protocol.PlannedPrivate(ctx).Stores
	planned := p.plan(ctx, *wanted, stored, diags)
	if planned != nil {
		storeImages(ctx, resp.Private, storedImages(ctx, req.Private, diags), planned.Images, diags)
		wanted.keep(ctx, resp.Private, planned, diags)
	}
	return planned
}

// plan makes the bundles. stored is the commit that Read found, "" if it found none. It returns nil
// if the bundles cannot be made, or cannot be made yet.
func (p *providerData) plan(ctx context.Context, r request, stored string, diags *diag.Diagnostics) *source.Planned {
	planned, err := p.source.Plan(ctx, r.Request, stored)
	if needsUnknown(errors.Join(err, errors.Join(planned.Broken...))) {
		return nil
	}
	r.report(planned, err, diags)
	if diags.HasError() {
		return nil
	}
	return &planned
}

// resolveUnknown sets the values that the plan of the bundles left unknown. Known values stay as planned.
// commit is the planned commit, "" if the plan left it unknown.
func (p *providerData) resolveUnknown(ctx context.Context, r request, planned types.Map, commit string, diags *diag.Diagnostics) (types.Map, source.Planned) {
	settled, err := p.source.ResolveUnknown(ctx, r.Request, elementsOf(planned), isOpen(planned), commit)
	r.report(settled, err, diags)
	return bundlesOf(settled.Elements), settled
}

// isOpen reports whether a plan left all bundles unknown, or one bundle unknown except for its
// name.
func isOpen(planned types.Map) bool {
	for _, element := range planned.Elements() {
		if element.IsUnknown() {
			return true
		}
	}
	return planned.IsUnknown()
}

// report reports problems of bundles, and why bundles cannot be made.
func (r *request) report(planned source.Planned, err error, diags *diag.Diagnostics) {
	of := report.BundleSource{Name: r.name, Attribute: r.at, ReadsPaths: r.Spec.Read != nil}
	diagnostics.Add(diags, of.Planned(planned, err, func(err error) string {
		if _, isSubmodule := errors.AsType[*git.SubmoduleError](err); isSubmodule {
			return report.SubmoduleAdvice
		}
		return ""
	}))
}

// needsUnknown reports whether a download or a decryption failed because its credentials are not
// known yet.
func needsUnknown(err error) bool {
	var (
		repository *git.UnknownCredentialsError
		registry   *chart.UnknownRegistryError
		keys       *sops.UnknownKeysError
	)
	return errors.As(err, &repository) || errors.As(err, &registry) || errors.As(err, &keys)
}

// The keys in private state of what was found for a resource.
const (
	commitKey = "head"   // The commit that Read found.
	imagesKey = "images" // The images of imageScans.
	chartsKey = "charts" // The versions of followed charts.
	pinsKey   = "pins"   // The charts that a plan has found. Only the plan before the apply reads it.
)

// storedCommit returns the commit that Read found last, "" if Read found it for another source than
// g.
func storedCommit(ctx context.Context, g source.GitSource, private privateReader, diags *diag.Diagnostics) string {
	raw, found := private.GetKey(ctx, commitKey)
	diags.Append(found...)
	return g.Stored(raw)
}

func storeCommit(ctx context.Context, g source.GitSource, private privateWriter, commit string, diags *diag.Diagnostics) {
	raw, err := g.Store(commit)
	storeFound(ctx, private, commitKey, raw, err, "the head of "+g.Repo, diags)
}

// storedFound reads what was found last.
func storedFound[T any](ctx context.Context, private privateReader, key string, decode func([]byte) (T, error), diags *diag.Diagnostics) T {
	raw, found := private.GetKey(ctx, key)
	diags.Append(found...)
	stored, err := decode(raw)
	diagnostics.Add(diags, report.UnreadablePrivateState(err))
	return stored
}

// storeFound stores what was found and encoded. what names it in an error.
func storeFound(ctx context.Context, private privateWriter, key string, raw []byte, err error, what string, diags *diag.Diagnostics) {
	if err != nil {
		diagnostics.Add(diags, report.Failed("Cannot store "+what, err))
		return
	}
	diags.Append(private.SetKey(ctx, key, raw)...)
}

// keptPrivate is private data that a plan stored and Terraform passes on.
type keptPrivate map[string][]byte

func (k keptPrivate) GetKey(_ context.Context, key string) ([]byte, diag.Diagnostics) {
	return k[key], nil
}

// planPrivate returns the private data that a plan or an apply works with: what the plan that it repeats
// or carries out has stored, else that of the state.
func planPrivate(ctx context.Context, state privateReader) privateReader {
	if kept := protocol.PlannedPrivate(ctx).Private; kept != nil {
		return keptPrivate(kept)
	}
	return state
}

// addPinned adds what a refresh and the plan before an apply have found, and returns the commit, "" if
// none was found.
func (r *request) addPinned(ctx context.Context, private privateReader, diags *diag.Diagnostics) (commit string) {
	r.Images = storedImages(ctx, private, diags)
	if r.follows { // The plan moves to the versions that a refresh found.
		r.Followed = storedFound(ctx, private, chartsKey, source.DecodeFollowed, diags)
	}
	r.Found = storedFound(ctx, keptPrivate(protocol.PlannedPrivate(ctx).Private), pinsKey, source.DecodePins, diags)
	return storedCommit(ctx, r.Git, private, diags)
}

// storePinned stores the commit and the images of an apply. planned is the commit of its plan.
func (r *request) storePinned(ctx context.Context, private privateStore, planned string, found lookedUp, diags *diag.Diagnostics) {
	storeImages(ctx, private, storedImages(ctx, private, diags), found.images, diags)
	if commit := cmp.Or(found.commit, planned); commit != "" && commit != storedCommit(ctx, r.Git, private, diags) {
		storeCommit(ctx, r.Git, private, commit, diags)
	}
	diags.Append(private.SetKey(ctx, pinsKey, nil)...) // The bundles have the charts now.
}

// keep stores what a plan has found, so that its apply uses the same, if Terraform keeps it.
func (r *request) keep(ctx context.Context, private privateWriter, planned *source.Planned, diags *diag.Diagnostics) {
	if !r.Kept {
		return
	}
	if !r.Git.None() && r.Git.Fixed() == "" {
		storeCommit(ctx, r.Git, private, planned.Commit, diags)
	}
	raw, err := planned.Found.Encode()
	storeFound(ctx, private, pinsKey, raw, err, "the versions of the charts of "+r.name, diags)
}

// lookedUp is what an apply found and stores.
type lookedUp struct {
	// commit is "" if it does not have to be stored.
	commit string
	images []source.ScannedImage
}

// followed is what a refresh looks up for a resource.
type followed struct {
	// name is the name of the resource.
	name string
	git  source.GitSource
	// spec limits what is fetched and where credentials are sent.
	spec source.Spec
	// charts are the charts whose newer versions are deployed.
	charts []bundle.Chart
}

// sourcesAttribute is the attribute of all resources that read files.
func sourcesAttribute(of string) schema.ListAttribute {
	attribute := framework.OptionalStrings("What the content of " + of + " may make the provider fetch: charts, their dependencies, charts in git, submodules and images. " +
		"Each element is a pattern of a URL, such as `https://github.com/acme/**` or `oci://ghcr.io/acme/*`; `*` matches any text without a slash, `**` any text. " +
		"An address over ssh is compared as `ssh://host/path`. Whatever matches no pattern is refused before any request, and an empty list allows nothing. The repository and the chart of the configuration need no pattern. " +
		"Default: everything may be fetched, but credentials of `git` are used only for repositories that the configuration names. The guide on security has the details.")
	attribute.Validators = []validator.List{listvalidator.ValueStringsAre(sourcePattern())}
	return attribute
}

func sourcePattern() validator.String {
	return framework.Text("must be the pattern of a URL", "Invalid pattern in sources", func(text string) string {
		if err := policy.CheckSource(text); err != nil {
			return report.Sentence(err)
		}
		return ""
	})
}

// sourcesOf returns the patterns, nil if there is no list.
func sourcesOf(ctx context.Context, list types.List, diags *diag.Diagnostics) []string {
	if list.IsNull() {
		return nil
	}
	return append([]string{}, framework.Strings(ctx, list, diags)...)
}

// refresh looks everything up, and stores what has changed.
func (f followed) refresh(ctx context.Context, from *source.Store, before privateReader, after privateWriter, diags *diag.Diagnostics) {
	refreshCommit(ctx, from, f, before, after, diags)
	refreshImages(ctx, from, f, before, after, diags)
	refreshCharts(ctx, from, f, before, after, diags)
}

// refreshCommit looks up the newest commit of a branch.
func refreshCommit(ctx context.Context, from *source.Store, of followed, before privateReader, after privateWriter, diags *diag.Diagnostics) {
	g := of.git
	commit, err := from.Refresh(ctx, g)
	if err != nil && !needsUnknown(err) {
		diagnostics.Add(diags, report.NoNewCommits(of.name, err))
	}
	// Writing private state raises the serial of the state, so only a changed commit is written.
	if err == nil && commit != "" && storedCommit(ctx, g, before, diags) != commit {
		storeCommit(ctx, g, after, commit, diags)
	}
}

// storedImages reads the images that were found last.
func storedImages(ctx context.Context, private privateReader, diags *diag.Diagnostics) []source.ScannedImage {
	return storedFound(ctx, private, imagesKey, source.DecodeImages, diags)
}

// storeImages stores the images if they changed.
func storeImages(ctx context.Context, private privateWriter, before, after []source.ScannedImage, diags *diag.Diagnostics) {
	if reflect.DeepEqual(before, after) || len(before)+len(after) == 0 {
		return
	}
	raw, err := source.EncodeImages(after)
	storeFound(ctx, private, imagesKey, raw, err, "the images of imageScans", diags)
}

// refreshImages looks up newer tags.
func refreshImages(ctx context.Context, from *source.Store, of followed, before privateReader, after privateWriter, diags *diag.Diagnostics) {
	known := storedImages(ctx, before, diags)
	if len(known) == 0 {
		return
	}
	found, failed := from.RefreshImages(ctx, of.spec, known)
	if failed = slices.DeleteFunc(failed, needsUnknown); len(failed) > 0 {
		diagnostics.Add(diags, report.NoNewTags(of.name, errors.Join(failed...)))
	}
	storeImages(ctx, after, known, found, diags)
}

// refreshCharts looks up newer versions of followed charts.
func refreshCharts(ctx context.Context, from *source.Store, of followed, before privateReader, after privateWriter, diags *diag.Diagnostics) {
	if len(of.charts) == 0 {
		return
	}
	known := storedFound(ctx, before, chartsKey, source.DecodeFollowed, diags)
	found, failed := from.FollowCharts(ctx, of.spec, of.charts, known)
	if failed = slices.DeleteFunc(failed, needsUnknown); len(failed) > 0 {
		diagnostics.Add(diags, report.NoNewCharts(of.name, errors.Join(failed...)))
	}
	if slices.Equal(found, known) {
		return
	}
	raw, err := found.Encode()
	storeFound(ctx, after, chartsKey, raw, err, "the versions of the charts of "+of.name, diags)
}
