package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"golang.org/x/sync/errgroup"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
)

const (
	// modulesFile is the file in which a repository declares its submodules.
	modulesFile = ".gitmodules"
	// modulesFileSize is how many bytes this file may have.
	modulesFileSize = 1 << 20
	// maxModules is how many submodules one commit may have, submodules of submodules included.
	// maxNesting is how deep submodules may be nested.
	maxModules = 500
	maxNesting = 10
)

var (
	errNoModule       = errors.New(".gitmodules has no URL for it")
	errModulesFile    = errors.New(".gitmodules is not a file of at most 1 MiB")
	errModulesNested  = fmt.Errorf("submodules are nested more than %d deep", maxNesting)
	errModuleOutside  = errors.New("its relative URL is above the root of the host")
	errModuleNoCommit = errors.New("it has no commit")
)

// FetchWithSubmodules is Fetch with the files of submodules in their folders, and the files of
// their submodules. A submodule that .gitmodules does not name is an empty folder. Each submodule
// is fetched at the commit that its repository records. The credentials for its own URL are used if
// the sources of the fetch.Reach in ctx allow it. An
// error for a submodule is a *SubmoduleError that wraps the error of Fetch.
func (c *Client) FetchWithSubmodules(ctx context.Context, repo, commit string, hint Ref) (fs.FS, error) {
	ctx, of, err := c.want(ctx, repo, commit)
	if err != nil {
		return nil, err
	}
	top, err := c.tree(ctx, of, hint)
	if err != nil {
		return nil, err
	}
	left := new(atomic.Int64)
	left.Store(maxModules)
	full, err := c.withModules(ctx, of.at, top, hint, left, maxNesting)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", of, err)
	}
	return full, nil
}

// withModules returns t with its submodules. left is how many more submodules are allowed,
// nesting how many more levels of them.
func (c *Client) withModules(ctx context.Context, at location, t tree, hint Ref, left *atomic.Int64, nesting int) (tree, error) {
	links, err := t.objects.links(maxModules)
	if err != nil || len(links) == 0 {
		return t, err
	}
	if nesting == 0 {
		return tree{}, errModulesNested
	}
	if left.Add(-int64(len(links))) < 0 {
		return tree{}, errModulesMany
	}
	declared, err := t.declared()
	if err != nil {
		return tree{}, err
	}
	// As in Fleet, which reads only .gitmodules (internal/cmd/cli/gitcloner/submodule).
	maps.DeleteFunc(links, func(name string, _ plumbing.Hash) bool { return declared[name] == nil })
	if len(links) == 0 {
		return t, nil
	}
	full := tree{objects: t.objects, modules: make(map[string]tree, len(links))}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelFetches)
	for name, commit := range links {
		group.Go(panics.Recovering("reading submodule "+name, func() error {
			module, err := c.module(ctx, at, declared[name], commit, hint, left, nesting)
			if err != nil {
				return &SubmoduleError{Path: name, Err: err}
			}
			mu.Lock()
			defer mu.Unlock()
			full.modules[name] = module
			return nil
		}))
	}
	return full, group.Wait()
}

// module fetches one submodule of the repository at.
func (c *Client) module(ctx context.Context, at location, declared *config.Submodule,
	commit plumbing.Hash, hint Ref, left *atomic.Int64, nesting int,
) (tree, error) {
	switch {
	case declared.URL == "":
		return tree{}, errNoModule
	case commit.IsZero():
		return tree{}, errModuleNoCommit
	}
	own, err := at.submodule(declared.URL)
	if err != nil {
		return tree{}, err
	}
	branch := Ref{Branch: declared.Branch}
	if branch.Branch == "." { // The branch of the repository around it.
		branch.Branch = hint.Branch
	}
	_, of, err := c.wantAt(ctx, own, commit)
	if err != nil {
		return tree{}, err
	}
	found, err := c.tree(ctx, of, branch)
	if err != nil {
		return tree{}, err
	}
	return c.withModules(ctx, own, found, branch, left, nesting-1)
}

// submodule returns the address of a submodule for which the repository at l declares url.
func (l location) submodule(url string) (location, error) {
	if !strings.HasPrefix(url, "./") && !strings.HasPrefix(url, "../") {
		return parseLocation(url)
	}
	// As in git, a relative URL treats the repository as a folder.
	base := strings.TrimRight(l.path, "/")
	for rest := strings.TrimRight(url, "/"); rest != ""; {
		var part string
		part, rest, _ = strings.Cut(rest, "/")
		switch part {
		case "", ".":
		case "..":
			if strings.Trim(base, "/") == "" {
				return location{}, errModuleOutside
			}
			base = base[:strings.LastIndex(base, "/")+1]
			if base != "/" {
				base = strings.TrimSuffix(base, "/")
			}
		default:
			base = strings.TrimSuffix(base, "/") + "/" + part
			if !strings.HasPrefix(l.path, "/") { // git@host:path
				base = strings.TrimPrefix(base, "/")
			}
		}
	}
	l.path = base
	reason := refusePath(base)
	if strings.Trim(base, "/") == "" {
		reason = "it is not the path of a repository"
	}
	if reason != "" {
		return location{}, &UnsupportedURLError{URL: redact(url), Reason: reason}
	}
	return l, nil
}

// declared returns the submodules that .gitmodules names, by path.
func (t tree) declared() (map[string]*config.Submodule, error) {
	found, err := t.find(modulesFile, false)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]*config.Submodule{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", modulesFile, err)
	}
	described, err := found.info(modulesFile).sized(modulesFile)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", modulesFile, err)
	}
	// git refuses a symbolic link here as well.
	if !described.Mode().IsRegular() || described.Size() > modulesFileSize {
		return nil, errModulesFile
	}
	content, err := t.ReadFile(modulesFile)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", modulesFile, err)
	}
	modules := config.NewModules()
	if err := modules.Unmarshal(content); err != nil {
		return nil, fmt.Errorf("reading %s: %w", modulesFile, err)
	}
	byPath := make(map[string]*config.Submodule, len(modules.Submodules))
	for module := range maps.Values(modules.Submodules) {
		byPath[path.Clean(module.Path)] = module
	}
	return byPath, nil
}
