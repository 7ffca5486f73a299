package source

import (
	"context"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
)

// Origin is the commit that a bundle was made from.
type Origin struct {
	// Repository has no credentials.
	Repository string
	Commit     string
	// About is empty if this process has not fetched the commit.
	About About
}

// Origins returns the origins of the bundles that are from git, by the names of the bundles. It
// fetches nothing.
func (s *Store) Origins(ctx context.Context, elements map[string]Element) map[string]Origin {
	return fromGit(elements, func(d Descriptor) Origin {
		return Origin{Repository: bundle.Shown(d.Git.Repo), Commit: d.Git.Commit, About: s.about(ctx, d.Spec)}
	})
}

func (s *Store) about(ctx context.Context, of Spec) About {
	ctx, err := of.within(ctx)
	if err != nil || s.git == nil {
		return About{}
	}
	about, _ := s.git.About(ctx, of.Git.Repo, of.Git.Commit)
	return about
}
