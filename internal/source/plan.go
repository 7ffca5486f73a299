package source

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// Describe reads the name and the version of the chart of a bundle.
type Describe func(b *bundle.Bundle) (chart, version string, err error)

// Element is one bundle as targets get it.
type Element struct {
	Digest  string
	Chart   string
	Version string
	Path    string
	// Descriptor is "" while it cannot be known before the apply.
	Descriptor string
}

// Request is what a resource asks to be made into bundles.
type Request struct {
	// Spec is complete but for the commit.
	Spec Spec
	Git  GitSource
	// Prior are the bundles made before of the same source, and Known those whose
	// charts are pinned, also when another branch is followed now.
	Prior, Known map[string]Element
	// HoldBroken are the bundles made before that stay while any bundle cannot be made.
	HoldBroken map[string]Element
	// Images are the tags that were found for imageScans when they were last looked for.
	Images []ScannedImage
	// Followed are the newest versions of charts that are deployed when they are newer than what was
	// found before.
	Followed FollowedCharts
	// Refresh says that charts are looked for again, whatever was found before.
	Refresh bool
}

// specAt is the Spec at a commit.
func (r Request) specAt(commit string) Spec {
	spec := r.Spec
	if !r.Git.None() {
		spec.Git = &PinnedCommit{
			Repo: r.Git.Repo, Commit: commit,
			Branch: r.Git.Ref.Branch, Revision: r.Git.Ref.Revision,
			Submodules: r.Git.Submodules,
		}
	}
	return spec
}

// pins are the charts that were found before.
func (r Request) pins(elements map[string]Element) (Pins, error) {
	pins := Pins{}
	if r.Refresh {
		return pins, nil
	}
	for name, element := range elements {
		if element.Descriptor == "" {
			continue
		}
		found, err := PinsOf(element.Descriptor)
		if err != nil {
			return nil, &ElementError{Bundle: name, Problem: UnreadableDescriptor, Err: err}
		}
		r.Followed.move(found)
		pins[name] = found
	}
	return pins, nil
}

// Planned is what bundles were made.
type Planned struct {
	Elements map[string]Element
	Commit   string
	// Pinned says whether an apply is sure to read the same commit.
	Pinned bool
	// Changed says whether any bundle is another than before.
	Changed bool
	// Warnings and Broken are those of a BundleSet.
	Warnings []fleetyaml.Problem
	Broken   []error
	// Images are the tags that were found for imageScans.
	Images []ScannedImage
}

// Plan makes the bundles. stored is the commit that was found last, "" if none was. What
// is broken is returned beside an error, too.
func (s *Store) Plan(ctx context.Context, r Request, stored string) (Planned, error) {
	commit, pinned, err := s.commit(ctx, r.Git, stored)
	if err != nil {
		return Planned{}, err
	}
	made, err := s.generate(ctx, r, commit, r.Known)
	if err != nil {
		return Planned{Broken: made.Broken}, err
	}
	planned := Planned{Commit: commit, Pinned: pinned, Warnings: made.Warnings, Broken: made.Broken, Images: made.Images}
	lasts := func(bundle Generated) bool { return pinned && bundle.Pinned }
	planned.Elements, planned.Changed, err = s.merge(made.Bundles, r.Prior, lasts)
	planned.Changed = r.hold(planned.Elements, made.Broken) || planned.Changed
	return planned, err
}

// Settle makes known what the plan of the bundles left open: everything if open, else the
// descriptors that planned lacks. What the plan knew stays as it was planned; commit is the
// planned one, "" if it was left open.
func (s *Store) Settle(ctx context.Context, r Request, planned map[string]Element, open bool, commit string) (Planned, error) {
	commit, _, err := s.commit(ctx, r.Git, commit)
	if err != nil {
		return Planned{}, err
	}
	settled := Planned{Elements: planned, Commit: commit, Images: r.Images}
	known := planned
	if open {
		known = r.Known
	}
	if !open && !slices.ContainsFunc(slices.Collect(maps.Values(planned)), func(e Element) bool { return e.Descriptor == "" }) {
		return settled, nil
	}
	made, err := s.generate(ctx, r, commit, known)
	if err != nil {
		return settled, err
	}
	settled.Images = made.Images
	if open {
		settled.Warnings, settled.Broken = made.Warnings, made.Broken
		settled.Elements, _, err = s.merge(made.Bundles, r.Prior, always)
		r.hold(settled.Elements, made.Broken)
		return settled, err
	}
	elements, _, err := s.merge(made.Bundles, nil, always)
	return settled, errors.Join(err, settleElements(planned, elements))
}

func (s *Store) generate(ctx context.Context, r Request, commit string, known map[string]Element) (BundleSet, error) {
	pins, err := r.pins(known)
	if err != nil {
		return BundleSet{}, err
	}
	spec := r.specAt(commit)
	images, pinned, err := s.scanImages(ctx, spec, r.Images)
	if _, isImage := errors.AsType[*ImageError](err); isImage && ctx.Err() == nil && spec.holds() {
		return BundleSet{Broken: []error{err}, Images: r.Images}, nil // Any bundle may have marked lines.
	}
	if err != nil {
		return BundleSet{}, err
	}
	made, err := s.Generate(ctx, spec.withImages(images), pins)
	made.Images = images
	for i := range made.Bundles {
		made.Bundles[i].Pinned = made.Bundles[i].Pinned && pinned
	}
	return made, err
}

// always is for what has been applied: it is what it is.
func always(Generated) bool { return true }

// hold adds the bundles made before that were not made now, if any bundle is broken: a
// folder that cannot be read does not say which bundle it is. It reports whether it
// changed what merge found.
func (r Request) hold(elements map[string]Element, broken []error) (changed bool) {
	if len(broken) == 0 {
		return false
	}
	for name, element := range r.HoldBroken {
		if _, made := elements[name]; !made {
			elements[name] = element
		}
	}
	return len(elements) != len(r.Prior)
}

// merge makes the map of generated bundles. An element whose digest stays is
// the prior one, word for word, so that a commit which leaves a bundle alone
// moves nothing downstream. changed says whether any element is another or
// missing; lasts whether what was generated is sure to be generated again.
func (s *Store) merge(generated []Generated, prior map[string]Element, lasts func(Generated) bool) (elements map[string]Element, changed bool, err error) {
	elements = make(map[string]Element, len(generated))
	var errs []error
	for _, made := range generated {
		name := made.Bundle.Name
		before, ok := prior[name]
		if ok && before.Digest == made.Bundle.Digest {
			elements[name] = before
			continue
		}
		chart, version, err := s.describe(made.Bundle)
		if err != nil {
			errs = append(errs, &ElementError{Bundle: name, Problem: UnreadableChart, Err: err})
			continue
		}
		element := Element{Digest: made.Bundle.Digest, Chart: chart, Version: version, Path: made.Bundle.Path}
		if lasts(made) {
			element.Descriptor = made.Descriptor
		}
		elements[name] = element
		changed = true
	}
	return elements, changed || len(elements) != len(prior), errors.Join(errs...)
}

// settleElements fills in what the plan left open of elements it knew.
func settleElements(planned, made map[string]Element) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(planned)) {
		if planned[name].Descriptor != "" {
			continue
		}
		found, ok := made[name]
		if !ok || found.Digest != planned[name].Digest {
			errs = append(errs, &ElementError{Bundle: name, Problem: ChangedSincePlan, Err: errors.New("it differs from the plan")})
			continue
		}
		planned[name] = found
	}
	return errors.Join(errs...)
}

// Find returns the bundle of an element, nil if its descriptor is not known yet and the
// Store has not made the bundle.
func (s *Store) Find(ctx context.Context, element Element) (*bundle.Bundle, error) {
	if element.Descriptor != "" {
		return s.Bundle(ctx, element.Descriptor, element.Digest)
	}
	cached, _ := s.Cached(element.Digest)
	return cached, nil
}

// Commits returns the commits that bundles came with, by their names. A bundle whose
// content has not changed keeps the commit that it came with.
func Commits(elements map[string]Element) map[string]string {
	commits := map[string]string{}
	for name, element := range elements {
		described, err := Decode(element.Descriptor)
		if err == nil && described.Git != nil { // What is wrong with one shows where it is read.
			commits[name] = described.Git.Commit
		}
	}
	return commits
}

// Repositories returns the URLs of the git repositories that bundles come from, by their names.
// Those from elsewhere have none.
func Repositories(elements map[string]Element) map[string]string {
	repositories := map[string]string{}
	for name, element := range elements {
		described, err := Decode(element.Descriptor)
		if err == nil && described.Git != nil { // What is wrong with one shows where it is read.
			repositories[name] = described.Git.Repo
		}
	}
	return repositories
}

// ElementProblem is what is wrong with one bundle of many.
type ElementProblem int

// The problems of bundles.
const (
	// UnreadableDescriptor: what is known of the bundle cannot be read.
	UnreadableDescriptor ElementProblem = iota
	// UnreadableChart: its chart cannot be read.
	UnreadableChart
	// ChangedSincePlan: it differs from the plan.
	ChangedSincePlan
)

// ElementError says what is wrong with one bundle.
type ElementError struct {
	Bundle  string
	Problem ElementProblem
	Err     error
}

func (e *ElementError) Error() string { return fmt.Sprintf("bundle %s: %v", e.Bundle, e.Err) }

func (e *ElementError) Unwrap() error { return e.Err }
