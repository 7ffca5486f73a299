package provider

import (
	"context"
	"errors"
	"reflect"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/chart"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diagnostics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/git"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/sops"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/source"
)

// request is what a resource asks to be made into bundles.
type request struct {
	source.Request
	// name is that of the resource.
	name string
	// at is the attribute that says where the bundles are kept.
	at string
	// follows says that newer versions of charts are deployed.
	follows bool
}

// plan makes the bundles. stored is the commit that Read found, "" if it found none. It
// returns nil if they cannot be made yet or at all.
func (f *providerData) plan(ctx context.Context, r request, stored string, diags *diag.Diagnostics) *source.Planned {
	planned, err := f.source.Plan(ctx, r.Request, stored)
	if needsUnknown(errors.Join(err, errors.Join(planned.Broken...))) {
		return nil
	}
	r.report(planned, err, diags)
	if diags.HasError() {
		return nil
	}
	return &planned
}

// settle makes known what the plan of the bundles left open. What the plan knew
// stays as it was planned; commit is the planned one, "" if it was left open.
func (f *providerData) settle(ctx context.Context, r request, planned types.Map, commit string, diags *diag.Diagnostics) (types.Map, source.Planned) {
	settled, err := f.source.Settle(ctx, r.Request, elementsOf(planned), isOpen(planned), commit)
	r.report(settled, err, diags)
	return bundlesOf(settled.Elements), settled
}

// isOpen says whether a plan knew nothing of bundles, or of one no more than its name.
func isOpen(planned types.Map) bool {
	for _, element := range planned.Elements() {
		if element.IsUnknown() {
			return true
		}
	}
	return planned.IsUnknown()
}

// report reports what is worth knowing of bundles, and why they cannot be made.
func (r request) report(planned source.Planned, err error, diags *diag.Diagnostics) {
	of := report.BundleSource{Name: r.name, Attribute: r.at, ReadsPaths: r.Spec.Read != nil}
	diagnostics.Add(diags, of.Planned(planned, err, func(err error) string {
		if _, isSubmodule := errors.AsType[*git.SubmoduleError](err); isSubmodule {
			return report.SubmoduleAdvice
		}
		return ""
	}))
}

// needsUnknown says whether something could not be fetched, or decrypted, because the
// credentials for it are not known yet.
func needsUnknown(err error) bool {
	var (
		repository *git.UnknownCredentialsError
		registry   *chart.UnknownRegistryError
		keys       *sops.UnknownKeysError
	)
	return errors.As(err, &repository) || errors.As(err, &registry) || errors.As(err, &keys)
}

// commitKey is where the commit stands in private state that Read found.
const commitKey = "head"

// storedCommit reads the commit that Read found last, "" if it was found for something else
// than g asks for now.
func storedCommit(ctx context.Context, g source.GitSource, private privateReader, diags *diag.Diagnostics) string {
	raw, found := private.GetKey(ctx, commitKey)
	diags.Append(found...)
	return g.Stored(raw)
}

func storeCommit(ctx context.Context, g source.GitSource, private privateWriter, commit string, diags *diag.Diagnostics) {
	raw, err := g.Store(commit)
	if err != nil {
		diagnostics.Add(diags, report.Failed("Cannot store the head of "+g.Repo, err))
		return
	}
	diags.Append(private.SetKey(ctx, commitKey, raw)...)
}

// lookedUp is what of a resource is stored beside its state.
type lookedUp struct {
	// commit is "" if it is not stored.
	commit string
	images []source.ScannedImage
}

// followed is what of a resource is looked up by a refresh.
type followed struct {
	// name is that of the resource.
	name string
	git  source.GitSource
	// helmRepoURLRegex limits where credentials are sent.
	helmRepoURLRegex string
	// charts are those whose newer versions are deployed.
	charts []bundle.Chart
}

// refreshCommit finds out where a branch is now.
func refreshCommit(ctx context.Context, from *source.Store, of followed, before privateReader, after privateWriter, diags *diag.Diagnostics) {
	g := of.git
	commit, err := from.Refresh(ctx, g)
	if err != nil && !needsUnknown(err) {
		diagnostics.Add(diags, report.NoNewCommits(of.name, err))
	}
	// Writing private state raises the serial of the state, so it is written
	// only when there is something to say.
	if err == nil && commit != "" && storedCommit(ctx, g, before, diags) != commit {
		storeCommit(ctx, g, after, commit, diags)
	}
}

// imagesKey is where the images stand in private state that were found for imageScans.
const imagesKey = "images"

// storedImages reads the images that were found last.
func storedImages(ctx context.Context, private privateReader, diags *diag.Diagnostics) []source.ScannedImage {
	raw, found := private.GetKey(ctx, imagesKey)
	diags.Append(found...)
	images, err := source.DecodeImages(raw)
	diagnostics.Add(diags, report.UnreadablePrivateState(err))
	return images
}

// storeImages writes them if they changed.
func storeImages(ctx context.Context, private privateWriter, before, after []source.ScannedImage, diags *diag.Diagnostics) {
	if reflect.DeepEqual(before, after) || len(before)+len(after) == 0 {
		return
	}
	raw, err := source.EncodeImages(after)
	if err != nil {
		diagnostics.Add(diags, report.Failed("Cannot store the images of imageScans", err))
		return
	}
	diags.Append(private.SetKey(ctx, imagesKey, raw)...)
}

// refreshImages looks for newer tags.
func refreshImages(ctx context.Context, from *source.Store, of followed, before privateReader, after privateWriter, diags *diag.Diagnostics) {
	known := storedImages(ctx, before, diags)
	if len(known) == 0 {
		return
	}
	found, failed := from.RefreshImages(ctx, source.Spec{HelmRepoURLRegex: of.helmRepoURLRegex}, known)
	if failed = slices.DeleteFunc(failed, needsUnknown); len(failed) > 0 {
		diagnostics.Add(diags, report.NoNewTags(of.name, errors.Join(failed...)))
	}
	storeImages(ctx, after, known, found, diags)
}

// chartsKey is where the versions stand in private state that followed charts allow.
const chartsKey = "charts"

// storedCharts reads the versions that were found last.
func storedCharts(ctx context.Context, private privateReader, diags *diag.Diagnostics) source.FollowedCharts {
	raw, found := private.GetKey(ctx, chartsKey)
	diags.Append(found...)
	stored, err := source.DecodeFollowed(raw)
	diagnostics.Add(diags, report.UnreadablePrivateState(err))
	return stored
}

// followedVersions returns the versions that a plan moves to: what a refresh has found.
func (r request) followedVersions(ctx context.Context, private privateReader, diags *diag.Diagnostics) source.FollowedCharts {
	if !r.follows {
		return nil
	}
	return storedCharts(ctx, private, diags)
}

// refreshCharts looks for newer versions of followed charts.
func refreshCharts(ctx context.Context, from *source.Store, of followed, before privateReader, after privateWriter, diags *diag.Diagnostics) {
	if len(of.charts) == 0 {
		return
	}
	known := storedCharts(ctx, before, diags)
	found, failed := from.FollowCharts(ctx, source.Spec{HelmRepoURLRegex: of.helmRepoURLRegex}, of.charts, known)
	if failed = slices.DeleteFunc(failed, needsUnknown); len(failed) > 0 {
		diagnostics.Add(diags, report.NoNewCharts(of.name, errors.Join(failed...)))
	}
	if slices.Equal(found, known) {
		return
	}
	raw, err := found.Encode()
	if err != nil {
		diagnostics.Add(diags, report.Failed("Cannot store the versions of the charts of "+of.name, err))
		return
	}
	diags.Append(after.SetKey(ctx, chartsKey, raw)...)
}
