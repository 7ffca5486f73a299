// Package git reads commits of remote repositories: it resolves a ref to a commit, and returns
// the files of a commit as an fs.FS. No git binary is used and nothing is checked out.
package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"sync"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fetch"
)

const (
	// defaultStallTimeout is how long a server may send nothing. A server that packs a large
	// repository sends at least a few bytes every few seconds.
	defaultStallTimeout = 2 * time.Minute
	anyByte             = 1
)

// parallelFetches is how many commits are fetched at once, which limits memory and the load on
// servers.
const parallelFetches = 2

// Config configures a Client. The zero value reads public repositories.
type Config struct {
	// Credentials by URL prefix, for example "https://github.com/acme/". The
	// longest matching prefix wins, and credentials are sent nowhere else. A
	// prefix matches at the end of a host or path segment only:
	// https://github.com/acme does not match https://github.com/acme-evil/x.
	Credentials map[string]Credentials
	// CredentialsUnknown is true if Credentials is not known yet.
	CredentialsUnknown bool
	// Boundary is what the content of repositories may reach.
	Boundary fetch.Boundary
	// Trust defines which certificates of servers and proxies are trusted.
	Trust fetch.Trust
	// TempDir is where the Client makes its temporary folder; "" is the default of the machine.
	TempDir string
	// CacheDir is where fetched packs are kept for other processes, for a week after the last
	// read; "" keeps none.
	CacheDir string
	// MaxSize is how many bytes one fetch may take, 2 GiB if it is 0.
	MaxSize int64
	// StallTimeout is how long a server may send nothing, two minutes if it is 0.
	StallTimeout time.Duration
}

// limits are the size of one fetch, and how long a server may send nothing.
type limits struct {
	size  int64
	stall time.Duration
}

// Ref names what to read of a repository: the head of a Branch, or a Revision, which is a tag, a
// branch or a full commit. At most one is set; the zero value is the remote's HEAD. Ref is an
// alias, so that packages that do not import this one can declare interfaces that a Client
// satisfies.
type Ref = struct {
	Branch   string
	Revision string
}

// Client reads repositories and keeps the fetched commits until it is closed. It is safe for
// concurrent use.
type Client struct {
	access   access
	limits   limits
	tempDir  string
	cacheDir string

	fetching fetch.Group[tree]
	slots    chan struct{}

	mu     sync.Mutex
	dir    string // Made with the first fetch.
	trees  map[string]*objects
	closed bool
}

// New makes a Client. Nothing is dialled, and no folder is made before the
// first Fetch.
func New(config Config) *Client {
	return &Client{
		access: newAccess(config),
		limits: limits{
			size:  cmp.Or(config.MaxSize, defaultMaxSize),
			stall: cmp.Or(config.StallTimeout, defaultStallTimeout),
		},
		tempDir:  config.TempDir,
		cacheDir: config.CacheDir,
		slots:    make(chan struct{}, parallelFetches),
		trees:    make(map[string]*objects),
	}
}

// Close removes the fetched commits. File systems that Fetch returned can no longer be read.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	var failures []error
	for _, tree := range c.trees {
		failures = append(failures, tree.close())
	}
	clear(c.trees)
	c.access.close()
	if c.dir != "" {
		failures = append(failures, os.RemoveAll(c.dir))
	}
	return errors.Join(failures...)
}

var errClosed = fmt.Errorf("the git client: %w", fs.ErrClosed)

var fullCommit = regexp.MustCompile(`^[0-9a-f]{40}$`)

// Resolve returns the commit, 40 hexadecimal digits, that ref points to now. A revision that is a
// full commit is returned as it is, without a request. If ctx has a fetch.Reach, the content of a
// source names repo, and otherwise the configuration does.
//
// Errors: *fetch.RefusedError, *UnsupportedURLError, *AuthenticationError, *CertificateError, *HostKeyError,
// *UnknownHostError, *RepositoryNotFoundError, *MovedError, *ObjectFormatError,
// *RevisionNotFoundError, *TimeoutError, *UnreachableError, or the error of ctx.
func (c *Client) Resolve(ctx context.Context, repo string, ref Ref) (string, error) {
	at, err := parseLocation(repo)
	if err != nil {
		return "", err
	}
	ctx, admitted, err := c.admit(ctx, at)
	if err != nil {
		return "", err
	}
	if ref.Branch != "" && ref.Revision != "" {
		return "", fmt.Errorf("%s: branch %q and revision %q exclude each other", at, ref.Branch, ref.Revision)
	}
	if fullCommit.MatchString(ref.Revision) {
		return ref.Revision, nil
	}
	session, err := c.connect(ctx, at, admitted)
	if errors.Is(err, errEmptyRepository) {
		return "", &RevisionNotFoundError{Repo: at.String(), Revision: describe(ref), Empty: true}
	}
	if err != nil {
		return "", err
	}
	defer session.close()
	commit, ok := session.resolve(ref)
	if !ok {
		return "", &RevisionNotFoundError{Repo: at.String(), Revision: describe(ref)}
	}
	return commit, nil
}

func describe(ref Ref) string {
	switch {
	case ref.Branch != "":
		return "branch " + ref.Branch
	case ref.Revision != "":
		return "revision " + ref.Revision
	}
	return "HEAD"
}
