package provider

import (
	"context"
	"encoding/json"
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/source"
)

// checkout is what a resource follows in git. The zero value follows nothing.
type checkout struct {
	repo       string
	ref        source.Ref
	submodules bool
}

// none says that nothing is read from git.
func (c checkout) none() bool { return c.repo == "" }

// fixed is the commit that the configuration names, "" if it names another sort
// of revision or none.
func (c checkout) fixed() string {
	if fullCommit.MatchString(c.ref.Revision) {
		return c.ref.Revision
	}
	return ""
}

var fullCommit = regexp.MustCompile(`^[0-9a-f]{40}$`)

// head is where a branch pointed when it was last read. It lives in private
// state: Read finds it out, and planning takes it from there, at plan and at
// apply alike.
type head struct {
	Repo   string     `json:"repo"`
	Ref    source.Ref `json:"ref"`
	Commit string     `json:"commit"`
}

const headKey = "head"

// stored reads the commit that was found last, "" if it was found for something
// else than c asks for now.
func (c checkout) stored(ctx context.Context, private privateReader, diags *diag.Diagnostics) string {
	raw, found := private.GetKey(ctx, headKey)
	diags.Append(found...)
	var last head
	if len(raw) == 0 || json.Unmarshal(raw, &last) != nil || last.Repo != c.repo || last.Ref != c.ref {
		return ""
	}
	return last.Commit
}

func (c checkout) store(ctx context.Context, private privateWriter, commit string, diags *diag.Diagnostics) {
	raw, err := json.Marshal(head{Repo: c.repo, Ref: c.ref, Commit: commit})
	if err != nil {
		diags.AddError("Cannot store the head of "+c.repo, sentence(err))
		return
	}
	diags.Append(private.SetKey(ctx, headKey, raw)...)
}

// refresh finds out where a branch is now. name is that of the resource.
func (f *fleet) refresh(ctx context.Context, c checkout, name string, before privateReader, after privateWriter, diags *diag.Diagnostics) {
	if c.none() || c.fixed() != "" {
		return
	}
	commit, err := f.git.Resolve(ctx, c.repo, c.ref)
	if needsUnknown(err) {
		return
	}
	if err != nil {
		diags.AddWarning("Cannot look for new commits of "+name, sentence(err)+" The commit that is known stays in force.")
		return
	}
	// Writing private state raises the serial of the state, so it is written
	// only when there is something to say.
	if c.stored(ctx, before, diags) != commit {
		c.store(ctx, after, commit, diags)
	}
}

// commit is the one to plan with, "" without git. pinned says whether an apply
// is sure to see the same one; it is not when a branch was followed just now.
func (f *fleet) commit(ctx context.Context, c checkout, stored string) (commit string, pinned bool, err error) {
	switch {
	case c.none():
		return "", true, nil
	case c.fixed() != "":
		return c.fixed(), true, nil
	case stored != "":
		return stored, true, nil
	}
	commit, err = f.git.Resolve(ctx, c.repo, c.ref)
	return commit, false, err
}
