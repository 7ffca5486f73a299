package source

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
)

// GitSource is the repository and ref that a resource follows in git. The zero value follows
// nothing.
type GitSource struct {
	Repo       string
	Ref        Ref
	Submodules bool
}

// None reports whether nothing is read from git.
func (g GitSource) None() bool { return g.Repo == "" }

// Fixed returns the commit that the configuration names. It is "" if the configuration names
// another kind of revision or none.
func (g GitSource) Fixed() string {
	if fullCommit.MatchString(g.Ref.Revision) {
		return g.Ref.Revision
	}
	return ""
}

var fullCommit = regexp.MustCompile(`^[0-9a-f]{40}$`)

// resolvedCommit is the commit of a branch when it was last read. It is stored in private state.
// Read of the resource resolves it, and planning uses the stored commit, at plan and at apply.
type resolvedCommit struct {
	Repo   string `json:"repo"`
	Ref    Ref    `json:"ref"`
	Commit string `json:"commit"`
}

// Stored reads the commit that Store has written. It returns "" if the commit was found for another
// repository or ref than those of g.
func (g GitSource) Stored(raw []byte) string {
	var last resolvedCommit
	if len(raw) == 0 || json.Unmarshal(raw, &last) != nil || last.Repo != g.Repo || last.Ref != g.Ref {
		return ""
	}
	return last.Commit
}

// Store encodes the commit that was found.
func (g GitSource) Store(commit string) ([]byte, error) {
	raw, err := json.Marshal(resolvedCommit{Repo: g.Repo, Ref: g.Ref, Commit: commit})
	if err != nil {
		return nil, fmt.Errorf("writing the commit of %s: %w", g.Repo, err)
	}
	return raw, nil
}

// Refresh returns the current commit of a branch. It returns "" if g does not follow one.
func (s *Store) Refresh(ctx context.Context, g GitSource) (commit string, err error) {
	if g.None() || g.Fixed() != "" {
		return "", nil
	}
	return s.git.Resolve(ctx, g.Repo, g.Ref)
}

// commit returns the commit to plan with, "" without git. pinned is true if an apply will use the
// same commit. It is false if a branch was only resolved now.
func (s *Store) commit(ctx context.Context, g GitSource, stored string) (commit string, pinned bool, err error) {
	switch {
	case g.None():
		return "", true, nil
	case g.Fixed() != "":
		return g.Fixed(), true, nil
	case stored != "":
		return stored, true, nil
	}
	commit, err = s.git.Resolve(ctx, g.Repo, g.Ref)
	return commit, false, err
}
