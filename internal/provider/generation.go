package provider

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/chart"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/git"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/sops"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/source"
)

// generation is what a resource asks to be made into bundles.
type generation struct {
	// name is that of the resource.
	name string
	// spec is complete but for the commit.
	spec     source.Spec
	checkout checkout
	// at is the attribute that says where the bundles are kept.
	at path.Path
	// prior are the bundles made before of the same source, and known those whose
	// charts are pinned, also when another branch is followed now.
	prior, known map[string]bundleElement
	// anew says that charts are looked for again, whatever was found before.
	anew bool
}

// specAt is the Spec at a commit.
func (g generation) specAt(commit string) source.Spec {
	spec := g.spec
	if !g.checkout.none() {
		spec.Git = &source.Checkout{
			Repo: g.checkout.repo, Commit: commit,
			Branch: g.checkout.ref.Branch, Revision: g.checkout.ref.Revision,
			Submodules: g.checkout.submodules,
		}
	}
	return spec
}

// pins are the charts that were found before.
func (g generation) pins(elements map[string]bundleElement, diags *diag.Diagnostics) source.Pins {
	pins := source.Pins{}
	if g.anew {
		return pins
	}
	for name, element := range elements {
		if element.Descriptor.IsUnknown() || element.Descriptor.IsNull() {
			continue
		}
		found, err := source.PinsOf(element.Descriptor.ValueString())
		if err != nil {
			diags.AddError("Cannot read what is known of bundle "+name, sentence(err))
		}
		pins[name] = found
	}
	return pins
}

// generated is what planning found.
type generated struct {
	bundles types.Map
	commit  string
	// pinned says whether an apply is sure to read the same commit.
	pinned bool
	// changed says whether any bundle is another than before.
	changed bool
	// unknown says that credentials are missing that are not known yet.
	unknown bool
}

// plan makes the bundles. stored is the commit that Read found, "" if it found
// none.
func (f *fleet) plan(ctx context.Context, g generation, stored string, diags *diag.Diagnostics) generated {
	commit, pinned, err := f.commit(ctx, g.checkout, stored)
	if needsUnknown(err) {
		return generated{unknown: true}
	}
	if err != nil {
		addSourceError(diags, g, err)
		return generated{}
	}
	pins := g.pins(g.known, diags)
	made, problems, err := f.source.Generate(ctx, g.specAt(commit), pins)
	if needsUnknown(err) {
		return generated{unknown: true}
	}
	addProblems(diags, g.name, problems)
	if err != nil {
		addSourceError(diags, g, err)
		return generated{}
	}
	lasts := func(bundle source.Generated) bool { return pinned && bundle.Pinned }
	elements, changed := merge(f.charts, made, g.prior, lasts, diags)
	return generated{bundles: bundlesOf(elements), commit: commit, pinned: pinned, changed: changed}
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

// settle makes known what the plan of the bundles left open. What the plan knew
// stays as it was planned; commit is the planned one, "" if it was left open.
func (f *fleet) settle(ctx context.Context, g generation, planned types.Map, commit string, diags *diag.Diagnostics) (types.Map, string) {
	commit, _, err := f.commit(ctx, g.checkout, commit)
	if err != nil {
		addSourceError(diags, g, err)
		return planned, ""
	}
	if !anyUnknown(ctx, planned) {
		return planned, commit
	}
	known, open := g.known, isOpen(planned)
	if !open {
		known = elementsOf(planned)
	}
	made, problems, err := f.source.Generate(ctx, g.specAt(commit), g.pins(known, diags))
	if err != nil {
		addSourceError(diags, g, err)
		return planned, commit
	}
	if open {
		addProblems(diags, g.name, problems)
		elements, _ := merge(f.charts, made, g.prior, always, diags)
		return bundlesOf(elements), commit
	}
	elements, _ := merge(f.charts, made, nil, always, diags)
	return settleElements(g.name, known, elements, diags), commit
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

// always is for what has been applied: it is what it is.
func always(source.Generated) bool { return true }

// settleElements fills in what the plan left open of elements it knew.
func settleElements(name string, planned, made map[string]bundleElement, diags *diag.Diagnostics) types.Map {
	for key, element := range planned {
		if !element.Descriptor.IsUnknown() {
			continue
		}
		found, ok := made[key]
		if !ok || !found.Digest.Equal(element.Digest) {
			diags.AddError("The source of "+name+" changed since it was planned",
				"Bundle "+key+" is not what was planned. No cluster was touched for it. Plan and apply again.")
			continue
		}
		planned[key] = found
	}
	return bundlesOf(planned)
}

// addSourceError reports that bundles could not be made, at the attribute the
// cause belongs to.
func addSourceError(diags *diag.Diagnostics, g generation, err error) {
	at, next := g.at, "Nothing was changed on any cluster."
	var (
		noMatch *bundle.NoMatchError
		invalid *fleetyaml.Error
	)
	if g.spec.Read != nil && (errors.As(err, &noMatch) || errors.As(err, &invalid)) {
		at = path.Root("paths")
	}
	if errors.As(err, &invalid) {
		next += " Correct the file and plan again."
	}
	diags.AddAttributeError(at, "Cannot make bundles of "+g.name, sentence(err)+"\n\n"+next)
}
