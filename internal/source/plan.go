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

// Element is one bundle in the form that targets get.
type Element struct {
	Digest  string
	Chart   string
	Version string
	Path    string
	// Descriptor is "" if it is not known before the apply.
	Descriptor string
}

// Request is a request of a resource to make bundles.
type Request struct {
	// Spec is complete except for the commit.
	Spec Spec
	Git  GitSource
	// Prior are the bundles that were made from the same source before. Known are the bundles whose
	// charts are pinned. They are used even if another branch is followed now.
	Prior, Known map[string]Element
	// HoldBroken are the bundles made before that are kept while any bundle cannot be made.
	HoldBroken map[string]Element
	// Images are the tags that the last search for imageScans found.
	Images []ScannedImage
	// Followed are the newest versions of charts. Such a version is deployed if it is newer than
	// the version that was found before.
	Followed FollowedCharts
	// Kept is true if Terraform keeps what this plan finds for its apply. Then everything is pinned.
	Kept bool
	// Found are the charts that the plan before an apply has found, by bundle, nil in that plan
	// itself.
	Found Pins
	// Refresh is true if the versions of charts are looked up again, and earlier results are not
	// used.
	Refresh bool
}

// specAt returns the Spec at a commit.
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

// pins returns the charts that were found before.
func (r Request) pins(elements map[string]Element) (Pins, error) {
	pins := Pins{}
	if r.Found != nil {
		return r.Found, nil
	}
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

// Planned is the result of making bundles.
type Planned struct {
	Elements map[string]Element
	Commit   string
	// Pinned is true if an apply will read the same commit.
	Pinned bool
	// Changed is true if any bundle differs from before.
	Changed bool
	// Warnings and Broken are those of a BundleSet.
	Warnings []fleetyaml.Problem
	Broken   []error
	// Images are the tags that were found for imageScans.
	Images []ScannedImage
	// Found are the charts that were found, by bundle.
	Found Pins
}

// Plan makes the bundles. stored is the commit that was found last, "" if none was. Planned.Broken
// is also set if Plan returns an error.
func (s *Store) Plan(ctx context.Context, r Request, stored string) (Planned, error) {
	commit, pinned, err := s.commit(ctx, r.Git, stored)
	if err != nil {
		return Planned{}, err
	}
	made, err := s.generate(ctx, r, commit, r.Known)
	if err != nil {
		return Planned{Broken: made.Broken}, err
	}
	planned := Planned{
		Commit: commit, Pinned: pinned || r.Kept, Warnings: made.Warnings,
		Broken: made.Broken, Images: made.Images, Found: made.charts(),
	}
	lasts := func(bundle Generated) bool { return r.Kept || pinned && bundle.Pinned }
	planned.Elements, err = s.merge(made.Bundles, r.Prior, lasts)
	r.hold(planned.Elements, made.Broken)
	planned.Changed = !maps.Equal(planned.Elements, r.Prior)
	return planned, err
}

// ResolveUnknown completes what the plan of the bundles left unknown: everything if open is true, otherwise
// the descriptors that are missing in planned. Values that were known in the plan remain as
// planned. commit is the planned commit, "" if it was unknown.
func (s *Store) ResolveUnknown(ctx context.Context, r Request, planned map[string]Element, open bool, commit string) (Planned, error) {
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
		settled.Elements, err = s.merge(made.Bundles, r.Prior, always)
		r.hold(settled.Elements, made.Broken)
		return settled, err
	}
	elements, err := s.merge(made.Bundles, nil, always)
	return settled, errors.Join(err, resolveElements(planned, elements))
}

func (s *Store) generate(ctx context.Context, r Request, commit string, known map[string]Element) (BundleSet, error) {
	pins, err := r.pins(known)
	if err != nil {
		return BundleSet{}, err
	}
	spec := r.specAt(commit)
	images, pinned, err := s.scanImages(ctx, spec, r.Images)
	if _, isImage := errors.AsType[*ImageError](err); isImage && ctx.Err() == nil && spec.holds() {
		return BundleSet{Broken: []error{err}, Images: r.Images}, nil // Each bundle can have lines that are marked for this image.
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

// always is for an apply, after which the content does not change.
func always(Generated) bool { return true }

// hold adds the bundles of HoldBroken that were not made now, if any bundle is broken. It adds all
// of them, because the name of a bundle is not known if its folder cannot be read.
func (r Request) hold(elements map[string]Element, broken []error) {
	if len(broken) == 0 {
		return
	}
	for name, element := range r.HoldBroken {
		if _, made := elements[name]; !made {
			elements[name] = element
		}
	}
}

// merge makes the map of generated bundles. If the digest of an element is the same, the prior
// element is kept unchanged, so that a commit that does not change a bundle changes nothing that
// depends on it. lasts reports whether a bundle will be the same when it is generated again.
func (s *Store) merge(generated []Generated, prior map[string]Element, lasts func(Generated) bool) (map[string]Element, error) {
	elements := make(map[string]Element, len(generated))
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
	}
	return elements, errors.Join(errs...)
}

// resolveElements sets the elements whose descriptors the plan left unknown.
func resolveElements(planned, made map[string]Element) error {
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

// Commits returns the commits that bundles were made from, by the names of the bundles. A bundle
// keeps its commit until its content changes.
func Commits(elements map[string]Element) map[string]string {
	return fromGit(elements, func(d Descriptor) string { return d.Git.Commit })
}

// Repositories returns the URLs of the git repositories of bundles, by the names of the bundles.
// Bundles from other sources have none.
func Repositories(elements map[string]Element) map[string]string {
	return fromGit(elements, func(d Descriptor) string { return d.Git.Repo })
}

// fromGit returns what of says about the bundles that are from git, by their names.
func fromGit[T any](elements map[string]Element, of func(Descriptor) T) map[string]T {
	found := map[string]T{}
	for name, element := range elements {
		described, err := Decode(element.Descriptor)
		if err == nil && described.Git != nil { // What is wrong with one shows where it is read.
			found[name] = of(described)
		}
	}
	return found
}

// ElementProblem is the kind of a problem with one bundle of many.
type ElementProblem int

// The problems of bundles.
const (
	// UnreadableDescriptor: the descriptor of the bundle cannot be read.
	UnreadableDescriptor ElementProblem = iota
	// UnreadableChart: its chart cannot be read.
	UnreadableChart
	// ChangedSincePlan: it differs from the plan.
	ChangedSincePlan
)

// ElementError reports what is wrong with one bundle.
type ElementError struct {
	Bundle  string
	Problem ElementProblem
	Err     error
}

func (e *ElementError) Error() string { return fmt.Sprintf("bundle %s: %v", e.Bundle, e.Err) }

func (e *ElementError) Unwrap() error { return e.Err }
