package source

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
)

// GitSource is what a resource follows in git. The zero value follows nothing.
type GitSource struct {
	Repo       string
	Ref        Ref
	Submodules bool
}

// None says that nothing is read from git.
func (g GitSource) None() bool { return g.Repo == "" }

// Fixed is the commit that the configuration names, "" if it names another sort
// of revision or none.
func (g GitSource) Fixed() string {
	if fullCommit.MatchString(g.Ref.Revision) {
		return g.Ref.Revision
	}
	return ""
}

var fullCommit = regexp.MustCompile(`^[0-9a-f]{40}$`)

// resolvedCommit is where a branch pointed when it was last read. It lives in private
// state: Read finds it out, and planning takes it from there, at plan and at
// apply alike.
type resolvedCommit struct {
	Repo   string `json:"repo"`
	Ref    Ref    `json:"ref"`
	Commit string `json:"commit"`
}

// Stored reads the commit that Store has written, "" if it was found for something
// else than g asks for now.
func (g GitSource) Stored(raw []byte) string {
	var last resolvedCommit
	if len(raw) == 0 || json.Unmarshal(raw, &last) != nil || last.Repo != g.Repo || last.Ref != g.Ref {
		return ""
	}
	return last.Commit
}

// Store writes the commit that was found.
func (g GitSource) Store(commit string) ([]byte, error) {
	raw, err := json.Marshal(resolvedCommit{Repo: g.Repo, Ref: g.Ref, Commit: commit})
	if err != nil {
		return nil, fmt.Errorf("writing the commit of %s: %w", g.Repo, err)
	}
	return raw, nil
}

// Refresh finds out where a branch is now. It returns "" if g does not follow one.
func (s *Store) Refresh(ctx context.Context, g GitSource) (commit string, err error) {
	if g.None() || g.Fixed() != "" {
		return "", nil
	}
	return s.git.Resolve(ctx, g.Repo, g.Ref)
}

// commit is the one to plan with, "" without git. pinned says whether an apply
// is sure to see the same one; it is not when a branch was followed just now.
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
