// Package source makes bundles from where they are kept: a commit of a git
// repository, a directory or files given inline. What it has made it finds
// again by digest, and makes again from a descriptor in another process.
package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/sops"
)

// Ref names a branch or a revision of a repository; the zero value is its HEAD.
type Ref = struct {
	Branch   string
	Revision string
}

// Git reads repositories.
type Git interface {
	// Resolve answers the commit that ref is now.
	Resolve(ctx context.Context, repo string, ref Ref) (commit string, err error)
	// Fetch answers the files of a commit; hint is where it came from.
	Fetch(ctx context.Context, repo, commit string, hint Ref) (fs.FS, error)
	// FetchWithSubmodules answers them with those of submodules in their places.
	FetchWithSubmodules(ctx context.Context, repo, commit string, hint Ref) (fs.FS, error)
}

// Generated is one bundle and the descriptor it can be made from again.
type Generated struct {
	Bundle     *bundle.Bundle
	Descriptor string
	// Pinned says that all its charts were found as they had been found before. A
	// chart that was looked for just now may be another one the next time.
	Pinned bool
}

// Store makes bundles and keeps them by digest until the process ends. It is
// safe for concurrent use.
type Store struct {
	git     Git
	charts  Charts
	public  Charts // Without credentials.
	reader  bundle.Reader
	reading singleflight.Group

	mu      sync.RWMutex
	read    map[string]bundle.Result  // By the key of a Spec; without fetched charts.
	bundles map[string]*bundle.Bundle // By digest.
}

// New makes an empty Store. git may be nil when nothing is read from git, charts
// and public when no charts are fetched; public fetches without credentials.
func New(git Git, charts, public Charts) *Store {
	return &Store{git: git, charts: charts, public: public, read: make(map[string]bundle.Result), bundles: make(map[string]*bundle.Bundle)}
}

// WithKeys makes the Store decrypt what sops has encrypted. It returns the Store.
func (s *Store) WithKeys(keys *sops.Decrypter) *Store {
	s.reader.Keys = keys
	return s
}

// Generate makes all bundles of a Spec, in the order of bundle.Read, and says
// what is odd about them. Of a git repository it reads the commit of the Spec
// and no other. Charts kept elsewhere are those that pins name; what they do not
// name is looked for.
func (s *Store) Generate(ctx context.Context, spec Spec, pins Pins) ([]Generated, []fleetyaml.Problem, error) {
	if err := spec.validate(); err != nil {
		return nil, nil, err
	}
	result, err := s.make(ctx, spec)
	if err != nil {
		return nil, nil, err
	}
	made, err := s.completeAll(ctx, spec, result.Bundles, pins)
	if err != nil {
		return nil, nil, err
	}
	generated := make([]Generated, 0, len(made))
	for _, m := range made {
		descriptor, err := Descriptor{Spec: spec, Bundle: m.bundle.Name, Charts: m.found}.Encode()
		if err != nil {
			return nil, nil, fmt.Errorf("describing bundle %s: %w", m.bundle.Name, err)
		}
		generated = append(generated, Generated{Bundle: m.bundle, Descriptor: descriptor, Pinned: m.pinned})
	}
	return generated, result.Warnings, nil
}

// chartsAtOnce is how many bundles fetch charts at the same time.
const chartsAtOnce = 8

// completeAll fetches charts for many bundles. All errors are reported, not only
// the first.
func (s *Store) completeAll(ctx context.Context, spec Spec, bundles []bundle.Bundle, pins Pins) ([]whole, error) {
	made := make([]whole, len(bundles))
	failed := make([]error, len(bundles))
	var group errgroup.Group
	group.SetLimit(chartsAtOnce)
	for i := range bundles {
		group.Go(func() error {
			made[i], failed[i] = s.complete(ctx, spec, &bundles[i], pins[bundles[i].Name])
			return nil
		})
	}
	if err := errors.Join(group.Wait(), errors.Join(failed...)); err != nil {
		return nil, err
	}
	for _, m := range made {
		s.keep(m.bundle)
	}
	return made, nil
}

// Cached answers the bundle with this digest if the Store has made it.
func (s *Store) Cached(digest string) (*bundle.Bundle, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	b, ok := s.bundles[digest]
	return b, ok
}

// Bundle answers the bundle with this digest: from memory, else made from its
// descriptor. When the commit of the descriptor can no longer be fetched, what
// its branch holds now serves if the digest agrees.
//
// Errors: *DigestMismatchError when the descriptor leads to something else by
// now, *DirectoryError, those of Git.
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
		return nil, fmt.Errorf("making bundle %s again: %w", d.Bundle, err)
	}
	d.Spec = d.at(head)
	b, headErr = s.again(ctx, d, digest)
	if headErr != nil {
		return nil, fmt.Errorf("making bundle %s again: %w", d.Bundle, errors.Join(err, headErr))
	}
	return b, nil
}

// again makes the bundle that d describes; its digest must be this one.
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
	made, err := s.complete(ctx, d.Spec, &result.Bundles[i], d.Charts)
	if err != nil {
		return nil, err
	}
	if made.bundle.Digest != digest {
		mismatch.Got = made.bundle.Digest
		return nil, mismatch
	}
	s.keep(made.bundle)
	return made.bundle, nil
}

// make reads spec once for all who ask. Charts kept elsewhere are not fetched.
func (s *Store) make(ctx context.Context, spec Spec) (bundle.Result, error) {
	key, err := spec.key()
	if err != nil {
		return bundle.Result{}, err
	}
	for {
		if result, ok := s.made(key); ok {
			return result, nil
		}
		// Whoever comes first reads for all, with its own context.
		made := s.reading.DoChan(key, func() (any, error) {
			result, err := s.readSpec(ctx, spec)
			if err != nil {
				return nil, err
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			s.read[key] = result
			return result, nil
		})
		select {
		case <-ctx.Done():
			return bundle.Result{}, fmt.Errorf("reading %s: %w", spec.where(), context.Cause(ctx))
		case r := <-made:
			if result, ok := r.Val.(bundle.Result); ok {
				return result, nil
			}
			// When the first gives up, the next one takes over.
			if ctx.Err() != nil || !isContextError(r.Err) {
				return bundle.Result{}, r.Err
			}
		}
	}
}

func isContextError(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

func (s *Store) made(key string) (bundle.Result, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	result, ok := s.read[key]
	return result, ok
}

func (s *Store) keep(b *bundle.Bundle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bundles[b.Digest] = b
}
