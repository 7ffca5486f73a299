// Package source makes bundles from their sources: a commit of a git repository, a directory or
// files given inline. A process that has made a bundle finds it again by digest. Another process
// can make it again from a descriptor.
package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fetch"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/image"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/sops"
)

// Ref names a branch or a revision of a repository; the zero value is its HEAD.
type Ref = struct {
	Branch   string
	Revision string
}

// About describes a commit.
type About = struct {
	Author  string
	Subject string
}

// Git reads repositories.
type Git interface {
	// Resolve returns the current commit of ref.
	Resolve(ctx context.Context, repo string, ref Ref) (commit string, err error)
	// Fetch returns the files of a commit. hint is the branch or revision by which the commit was
	// found.
	Fetch(ctx context.Context, repo, commit string, hint Ref) (fs.FS, error)
	// FetchWithSubmodules is Fetch with the files of submodules in their folders.
	FetchWithSubmodules(ctx context.Context, repo, commit string, hint Ref) (fs.FS, error)
	// About returns the author and the subject of a commit that was fetched. It fetches nothing.
	About(ctx context.Context, repo, commit string) (about About, ok bool)
}

// Generated is one bundle and a descriptor from which it can be made again.
type Generated struct {
	Bundle     *bundle.Bundle
	Descriptor string
	// Charts are the versions of its charts that are stored elsewhere.
	Charts []Pinned
	// Pinned is true if all its charts are the versions that an earlier reading found. A chart that
	// was only found now may have another version the next time.
	Pinned bool
}

// Store makes bundles and keeps them by digest until the process ends. It is
// safe for concurrent use.
type Store struct {
	git      Git
	charts   chartSources
	images   imageRegistries
	reader   bundle.Reader
	describe Describe
	read     fetch.Cache[bundle.Result] // By the key of a Spec; without fetched charts.

	mu      sync.RWMutex
	bundles map[string]*bundle.Bundle // By digest.
}

// Config contains the dependencies of a Store. A field can be nil if no Spec needs it.
type Config struct {
	Git Git
	// Charts and Images use credentials, PublicCharts and PublicImages do not.
	Charts, PublicCharts Charts
	Images, PublicImages image.Registry
	// Keys decrypt files that sops has encrypted.
	Keys *sops.Decrypter
	// IgnoreRules reads the .helmignore of a chart, if a Spec requires that.
	IgnoreRules bundle.IgnoreRules
	// Describe is needed by Plan and ResolveUnknown.
	Describe Describe
}

// New makes an empty Store.
func New(c Config) *Store {
	return &Store{
		git:      c.Git,
		charts:   chartSources{git: c.Git, charts: c.Charts, public: c.PublicCharts},
		images:   imageRegistries{registry: c.Images, public: c.PublicImages},
		reader:   bundle.Reader{Keys: c.Keys, IgnoreRules: c.IgnoreRules},
		describe: c.Describe,
		bundles:  make(map[string]*bundle.Bundle),
	}
}

// BundleSet is the result of making the bundles of a Spec.
type BundleSet struct {
	// Bundles are in the order of bundle.Reader.Read.
	Bundles []Generated
	// Warnings are problems in the files that the bundles were made from.
	Warnings []fleetyaml.Problem
	// Broken are the reasons why bundles cannot be made. It is only set with
	// bundle.ReadOptions.Hold.
	Broken []error
	// Images are the tags of imageScans that were written to lines of the files.
	Images []ScannedImage
}

// Generate makes all bundles of a Spec. It reads only the commit of the Spec from a git repository.
// Charts that are stored elsewhere have the versions in pins. For other charts it finds a version.
func (s *Store) Generate(ctx context.Context, spec Spec, pins Pins) (BundleSet, error) {
	if err := spec.validate(); err != nil {
		return BundleSet{}, err
	}
	ctx = fetch.RememberFailures(ctx)
	result, err := s.make(ctx, spec)
	if err != nil {
		return BundleSet{}, err
	}
	made, failed := s.completeAll(ctx, spec, result.Bundles, pins)
	broken := slices.Concat(result.Broken, failed)
	if len(failed) > 0 && (ctx.Err() != nil || !spec.holds()) {
		return BundleSet{}, errors.Join(failed...)
	}
	for i, m := range made {
		if made[i].Descriptor, err = (Descriptor{Spec: spec, Bundle: m.Bundle.Name, Charts: m.Charts}).Encode(); err != nil {
			return BundleSet{}, fmt.Errorf("describing bundle %s: %w", m.Bundle.Name, err)
		}
	}
	return BundleSet{Bundles: made, Warnings: result.Warnings, Broken: broken}, nil
}

// holds reports whether the other bundles are made if one cannot be made.
func (s Spec) holds() bool { return s.Read != nil && s.Read.Hold }

// chartsAtOnce is how many bundles fetch charts at the same time.
const chartsAtOnce = 8

// each calls a function with the numbers below n, some at a time, and returns its errors by number.
func each(n int, doing func(i int) string, do func(i int) error) []error {
	errs := make([]error, n)
	var group errgroup.Group
	group.SetLimit(chartsAtOnce)
	for i := range n {
		group.Go(func() error {
			errs[i] = panics.Recovering(doing(i), func() error { return do(i) })()
			return nil
		})
	}
	_ = group.Wait() // It returns no error.
	return errs
}

// completeAll fetches charts for many bundles. It returns the complete bundles and the errors of
// the others.
func (s *Store) completeAll(ctx context.Context, spec Spec, bundles []bundle.Bundle, pins Pins) (complete []Generated, failed []error) {
	made := make([]Generated, len(bundles))
	doing := func(i int) string { return "fetching the charts of bundle " + bundles[i].Name }
	errs := each(len(bundles), doing, func(i int) (err error) {
		made[i], err = s.charts.complete(ctx, spec, &bundles[i], pins[bundles[i].Name])
		return err
	})
	for i, m := range made {
		if errs[i] != nil {
			failed = append(failed, errs[i])
			continue
		}
		s.keep(m.Bundle)
		complete = append(complete, m)
	}
	return complete, failed
}

// Cached returns the bundle with this digest if the Store has made it.
func (s *Store) Cached(digest string) (*bundle.Bundle, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	b, ok := s.bundles[digest]
	return b, ok
}

// Bundle returns the bundle with this digest, from memory or made from its descriptor. If the
// commit of the descriptor can no longer be fetched, Bundle uses the current commit of its branch,
// provided that the digest is the same.
//
// Errors: *DigestMismatchError if the content of the source has changed, *DirectoryError, those of
// Git.
func (s *Store) Bundle(ctx context.Context, descriptor, digest string) (*bundle.Bundle, error) {
	if b, ok := s.Cached(digest); ok {
		return b, nil
	}
	d, err := Decode(descriptor)
	if err != nil {
		return nil, err
	}
	b, err := s.again(ctx, d, digest)
	if _, gone := errors.AsType[*fetchError](err); !gone || ctx.Err() != nil {
		return b, err
	}
	head, headErr := s.git.Resolve(ctx, d.Git.Repo, d.Git.ref())
	if headErr != nil || head == d.Git.Commit {
		return nil, fmt.Errorf("rebuilding bundle %s: %w", d.Bundle, err)
	}
	d.Spec = d.at(head)
	b, headErr = s.again(ctx, d, digest)
	if headErr != nil {
		return nil, fmt.Errorf("rebuilding bundle %s: %w", d.Bundle, errors.Join(err, headErr))
	}
	return b, nil
}

// again makes the bundle that d describes. It fails if the bundle has another digest.
func (s *Store) again(ctx context.Context, d Descriptor, digest string) (*bundle.Bundle, error) {
	result, err := s.make(ctx, d.Spec)
	if err != nil {
		return nil, err
	}
	mismatch := &DigestMismatchError{Bundle: d.Bundle, Where: d.where(), Want: digest}
	i := slices.IndexFunc(result.Bundles, func(b bundle.Bundle) bool { return b.Name == d.Bundle })
	if i < 0 {
		return nil, mismatch
	}
	made, err := s.charts.complete(ctx, d.Spec, &result.Bundles[i], d.Charts)
	if err != nil {
		return nil, err
	}
	if made.Bundle.Digest != digest {
		mismatch.Got = made.Bundle.Digest
		return nil, mismatch
	}
	s.keep(made.Bundle)
	return made.Bundle, nil
}

// make reads spec once for all callers. It does not fetch charts that are stored elsewhere.
func (s *Store) make(ctx context.Context, spec Spec) (bundle.Result, error) {
	key, err := spec.key()
	if err != nil {
		return bundle.Result{}, err
	}
	return s.read.Get(ctx, key, "reading "+spec.where(), func(ctx context.Context) (bundle.Result, error) { return s.readSpec(ctx, spec) })
}

func (s *Store) keep(b *bundle.Bundle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bundles[b.Digest] = b
}
