package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fetch"
)

// deepened is how many generations of a branch are fetched in search of a commit. If the commit
// is not among them, all generations are fetched.
const deepened = 50

// Fetch returns the files of a commit, which is named by all of its 40 hexadecimal digits. The
// files are read from disk when they are opened, until the Client is closed. hint is the ref that
// led to the commit, for servers that do not serve a commit by its name.
//
// The result implements fs.ReadDirFS, fs.ReadFileFS, fs.StatFS and fs.ReadLinkFS. Submodules are
// empty folders, see FetchWithSubmodules. Opening a symbolic link that leads out of the
// repository fails with ErrOutsideTree. Reading a Git LFS pointer fails with *LFSPointerError.
//
// Errors: as those of Resolve, *PackError, *SizeError.
func (c *Client) Fetch(ctx context.Context, repo, commit string, hint Ref) (fs.FS, error) {
	ctx, of, err := c.want(ctx, repo, commit)
	if err != nil {
		return nil, err
	}
	return c.tree(ctx, of, hint)
}

// wanted is a commit that a caller may read.
type wanted struct {
	at       location
	admitted fetch.Admission
	commit   plumbing.Hash
	key      string // In the trees of the client. Callers with the same rights share it.
}

func (w wanted) String() string { return fmt.Sprintf("fetching commit %s of %s", w.commit, w.at) }

// want decides about a commit, before any request. The returned context tells who names it.
func (c *Client) want(ctx context.Context, repo, commit string) (context.Context, wanted, error) {
	at, err := parseLocation(repo)
	if err == nil && !fullCommit.MatchString(commit) {
		err = fmt.Errorf("%s: %q is not a full commit of 40 hexadecimal digits", at, commit)
	}
	if err != nil {
		return ctx, wanted{}, err
	}
	return c.wantAt(ctx, at, plumbing.NewHash(commit))
}

func (c *Client) wantAt(ctx context.Context, at location, commit plumbing.Hash) (context.Context, wanted, error) {
	ctx, admitted, err := c.admit(ctx, at)
	key := at.user + " " + at.String() + " " + commit.String()
	if !admitted.Entitled || !admitted.Trusted {
		key = c.access.boundary.KeyFor(ctx, at.scope(), key)
	}
	return ctx, wanted{at: at, admitted: admitted, commit: commit, key: key}, err
}

// admit decides about a repository, before any request. The returned context tells who names it.
func (c *Client) admit(ctx context.Context, at location) (context.Context, fetch.Admission, error) {
	ctx = fetch.Naming(ctx, at.scope())
	reach, _ := fetch.ReachOf(ctx)
	if configured, err := parseLocation(reach.Repository); err == nil {
		reach.Repository, reach.Named = "", append(slices.Clip(reach.Named), configured.scope())
		ctx = fetch.WithReach(ctx, reach)
	}
	admitted, err := c.access.boundary.Admit(ctx, at.scope(), "")
	return ctx, admitted, err
}

// tree returns the files of a commit, which is fetched once for all callers that have the same rights.
func (c *Client) tree(ctx context.Context, of wanted, hint Ref) (tree, error) {
	if found, ok, err := c.fetched(of.key); ok || err != nil {
		return found, err
	}
	return c.fetching.Do(ctx, of.key, of.String(), func(ctx context.Context) (tree, error) {
		if found, ok, err := c.fetched(of.key); ok || err != nil { // By another caller since.
			return found, err
		}
		if err := c.fetch(ctx, of, hint); err != nil {
			return tree{}, err
		}
		found, _, err := c.fetched(of.key)
		return found, err
	})
}

func (c *Client) fetched(key string) (found tree, ok bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return tree{}, false, errClosed
	}
	if objects, ok := c.trees[key]; ok {
		return objects.root(), true, nil
	}
	return tree{}, false, nil
}

// fetch adds a commit to the trees of the client.
func (c *Client) fetch(ctx context.Context, of wanted, hint Ref) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	}
	dir, err := c.newDir()
	if err != nil {
		return fmt.Errorf("%s: making a temporary folder: %w", of, err)
	}
	objects, kept := c.loadCached(ctx, dir, of)
	if !kept {
		if objects, err = c.fetchInto(ctx, dir, of, hint); err == nil {
			c.saveCached(of.key, objects)
		}
	}
	if err == nil {
		err = c.keep(of.key, objects)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	return nil
}

func (c *Client) newDir() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return "", errClosed
	}
	if c.dir == "" {
		c.removeAbandoned()
		dir, err := os.MkdirTemp(c.tempDir, tempPrefix+"*")
		if err != nil {
			return "", err
		}
		c.dir = dir
	}
	return os.MkdirTemp(c.dir, "*")
}

func (c *Client) keep(key string, objects *objects) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errors.Join(errClosed, objects.close())
	}
	c.trees[key] = objects
	return nil
}

// fetchInto sends the requests from the smallest to the largest, until one of them returns the
// commit.
func (c *Client) fetchInto(ctx context.Context, dir string, of wanted, hint Ref) (*objects, error) {
	missing := &RevisionNotFoundError{Repo: of.at.String(), Revision: "commit " + of.commit.String()}
	session, err := c.connect(ctx, of.at, of.admitted)
	if errors.Is(err, errEmptyRepository) {
		missing.Empty = true
		return nil, missing
	}
	if err != nil {
		return nil, err
	}
	defer func() { session.close() }()
	for i, request := range session.requests(of.commit, hint) {
		if i > 0 { // Over SSH a session ends with its first pack.
			next, err := c.connect(ctx, of.at, of.admitted)
			if err != nil {
				return nil, err
			}
			session.close()
			session = next
		}
		pack, err := session.fetch(ctx, request, dir)
		if isA[*refusedError](err) {
			missing.Err = errors.Join(missing.Err, err)
			continue // A server that refuses one request may grant the next.
		}
		if err != nil {
			return nil, err
		}
		objects, err := newObjects(pack, of.commit)
		if err == nil {
			return objects, nil
		}
		if err := errors.Join(pack.file.Close(), os.Remove(pack.file.Name())); err != nil {
			return nil, err
		}
		if !errors.Is(err, plumbing.ErrObjectNotFound) {
			return nil, fmt.Errorf("reading the data received from %s: %w", of.at, err)
		}
	}
	return nil, missing
}
