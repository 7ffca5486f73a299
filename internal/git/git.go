// Package git reads commits of remote repositories: a ref becomes a commit, and
// a commit becomes an fs.FS. No git binary is used and nothing is checked out.
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
	// defaultStallTimeout is how long a server may be silent. One that packs a large
	// repository says something every few seconds, if only a few bytes.
	defaultStallTimeout = 2 * time.Minute
	anyByte             = 1
)

// parallelFetches bounds memory and what servers are asked at once.
const parallelFetches = 2

// Config is what a Client is made from. Its zero value reads public
// repositories.
type Config struct {
	// Credentials by URL prefix, for example "https://github.com/acme/". The
	// longest matching prefix wins, and credentials are sent nowhere else. A
	// prefix matches at the end of a host or path segment only:
	// https://github.com/acme does not match https://github.com/acme-evil/x.
	Credentials map[string]Credentials
	// CredentialsUnknown says that it is not known yet which there are.
	CredentialsUnknown bool
	// Trust is which certificates of servers and proxies count.
	Trust fetch.Trust
	// TempDir is where the temporary folder of the Client is made; "" is the
	// machine's own place for such.
	TempDir string
	// CacheDir is where what was fetched is kept for other processes, for a week
	// after it was last read; "" keeps nothing.
	CacheDir string
	// MaxSize is how many bytes one fetch may take, 2 GiB if it is 0.
	MaxSize int64
	// StallTimeout is how long a server may send nothing, two minutes if it is 0.
	StallTimeout time.Duration
}

// limits bound what a server may do.
type limits struct {
	size  int64
	stall time.Duration
}

// Ref names what to read of a repository: the head of a Branch, or a Revision,
// which is a tag, a branch or a full commit. At most one is set; the zero value
// is the remote's HEAD. It is an alias so that packages which do not know this
// one can declare interfaces that a Client satisfies.
type Ref = struct {
	Branch   string
	Revision string
}

// Client reads repositories and remembers what it has read until it is closed.
// It is safe for concurrent use.
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

// Close removes what was fetched. File systems handed out before can no longer
// be read.
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

// Resolve returns the commit, 40 hexadecimal digits, that ref is now. A
// revision which is a full commit is answered as it is, without a request.
//
// Errors: *UnsupportedURLError, *AuthenticationError, *CertificateError,
// *HostKeyError, *UnknownHostError, *RepositoryNotFoundError, *MovedError,
// *ObjectFormatError, *RevisionNotFoundError, *TimeoutError, *UnreachableError,
// or that of ctx.
func (c *Client) Resolve(ctx context.Context, repo string, ref Ref) (string, error) {
	at, err := parseLocation(repo)
	if err != nil {
		return "", err
	}
	if ref.Branch != "" && ref.Revision != "" {
		return "", fmt.Errorf("%s: branch %q and revision %q exclude each other", at, ref.Branch, ref.Revision)
	}
	if fullCommit.MatchString(ref.Revision) {
		return ref.Revision, nil
	}
	session, err := c.connect(ctx, at)
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
