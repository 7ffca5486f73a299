// Package source makes bundles from where they are kept: a commit of a git
// repository, a directory or files given inline. What it has made it finds
// again by digest, and makes again from a descriptor in another process.
package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"golang.org/x/sync/singleflight"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
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
}

// Generated is one bundle and the descriptor it can be made from again.
type Generated struct {
	Bundle     *bundle.Bundle
	Descriptor string
}

// Store makes bundles and keeps them by digest until the process ends. It is
// safe for concurrent use.
type Store struct {
	git     Git
	reading singleflight.Group

	mu      sync.RWMutex
	bundles map[string]*bundle.Bundle // By digest.
}

// New makes an empty Store. git may be nil when nothing is read from git.
func New(git Git) *Store {
	return &Store{git: git, bundles: make(map[string]*bundle.Bundle)}
}

// Generate makes all bundles of a Spec, in the order of bundle.Read, and says
// what is odd about them. Of a git repository it reads the commit of the Spec
// and no other.
func (s *Store) Generate(ctx context.Context, spec Spec) ([]Generated, []fleetyaml.Problem, error) {
	if err := spec.validate(); err != nil {
		return nil, nil, err
	}
	result, err := s.make(ctx, spec)
	if err != nil {
		return nil, nil, err
	}
	generated := make([]Generated, 0, len(result.Bundles))
	for i := range result.Bundles {
		b := &result.Bundles[i]
		descriptor, err := Descriptor{Spec: spec, Bundle: b.Name}.Encode()
		if err != nil {
			return nil, nil, fmt.Errorf("describing bundle %s: %w", b.Name, err)
		}
		generated = append(generated, Generated{Bundle: b, Descriptor: descriptor})
	}
	return generated, result.Warnings, nil
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
	b, err := s.find(ctx, d.Spec, d.Bundle, digest)
	if _, gone := errors.AsType[*fetchError](err); !gone || ctx.Err() != nil {
		return b, err
	}
	head, headErr := s.git.Resolve(ctx, d.Git.Repo, d.Git.ref())
	if headErr != nil || head == d.Git.Commit {
		return nil, fmt.Errorf("making bundle %s again: %w", d.Bundle, err)
	}
	b, headErr = s.find(ctx, d.at(head), d.Bundle, digest)
	if headErr != nil {
		return nil, fmt.Errorf("making bundle %s again: %w", d.Bundle, errors.Join(err, headErr))
	}
	return b, nil
}

// find makes the bundles of spec and picks the one with this name and digest.
func (s *Store) find(ctx context.Context, spec Spec, name, digest string) (*bundle.Bundle, error) {
	result, err := s.make(ctx, spec)
	if err != nil {
		return nil, err
	}
	mismatch := &DigestMismatchError{Bundle: name, Where: spec.where(), Want: digest}
	for i := range result.Bundles {
		b := &result.Bundles[i]
		if b.Name == name && b.Digest == digest {
			return b, nil
		}
		if b.Name == name {
			mismatch.Got = b.Digest
		}
	}
	return nil, mismatch
}

// make reads spec once for all who ask at the same time, and keeps what comes
// out of it.
func (s *Store) make(ctx context.Context, spec Spec) (bundle.Result, error) {
	key, err := spec.key()
	if err != nil {
		return bundle.Result{}, err
	}
	for {
		// Whoever comes first reads for all, with its own context.
		made := s.reading.DoChan(key, func() (any, error) {
			result, err := s.read(ctx, spec)
			if err != nil {
				return nil, err
			}
			s.keep(result.Bundles)
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

func (s *Store) keep(bundles []bundle.Bundle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range bundles {
		s.bundles[bundles[i].Digest] = &bundles[i]
	}
}
