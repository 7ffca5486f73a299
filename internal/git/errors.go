package git

import (
	"errors"
	"fmt"
)

// UnsupportedURLError says that an address cannot be read by this provider.
type UnsupportedURLError struct {
	URL    string // Without credentials.
	Reason string
}

func (e *UnsupportedURLError) Error() string {
	return fmt.Sprintf("%s cannot be read as a git repository: %s", e.URL, e.Reason)
}

// AuthenticationError says that a server wants other credentials, or that those
// given cannot be used.
type AuthenticationError struct {
	URL string // Without credentials.
	// Prefix of the credentials that were used, "" when none are configured for
	// this URL.
	Prefix string
	// Err is the cause, when it is more than a refusal by the server.
	Err error
}

func (e *AuthenticationError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("authenticating to %s: %v; %s", e.URL, e.Err, adviseCredentials(e.Prefix))
	}
	return fmt.Sprintf("authenticating to %s: the server refused; %s", e.URL, adviseCredentials(e.Prefix))
}

func (e *AuthenticationError) Unwrap() error { return e.Err }

// RepositoryNotFoundError says that a server knows no such repository, or hides
// it from the credentials used: servers answer both alike.
type RepositoryNotFoundError struct {
	URL string // Without credentials.
	// Prefix of the credentials that were used, "" when none are configured for
	// this URL.
	Prefix string
}

func (e *RepositoryNotFoundError) Error() string {
	return fmt.Sprintf("repository %s does not exist or may not be seen with these credentials (servers answer both alike); check the URL, then: %s",
		e.URL, adviseCredentials(e.Prefix))
}

func adviseCredentials(prefix string) string {
	if prefix == "" {
		return "the provider's git map has no credentials for this URL; add an entry whose key is a prefix of it"
	}
	return fmt.Sprintf("check the credentials under %q in the provider's git map", prefix)
}

// RevisionNotFoundError says that a repository, which can be read, has no such
// branch, tag or commit.
type RevisionNotFoundError struct {
	Repo     string // Without credentials.
	Revision string // For example "branch main", "revision v1.2.0", "HEAD" or "commit 0123…".
	// Empty says that the repository has no commit at all.
	Empty bool
	// Err is how the server refused, nil if it just showed no such thing.
	Err error
}

func (e *RevisionNotFoundError) Error() string {
	if e.Empty {
		return fmt.Sprintf("%s of %s does not exist: the repository is empty; push a commit first", e.Revision, e.Repo)
	}
	if e.Err != nil {
		return fmt.Sprintf("%s cannot be had from %s; it may have been deleted or overwritten, or not been pushed: %v", e.Revision, e.Repo, e.Err)
	}
	return fmt.Sprintf("%s of %s does not exist; it may have been deleted or overwritten, or not been pushed (a commit is named by all of its 40 digits)",
		e.Revision, e.Repo)
}

func (e *RevisionNotFoundError) Unwrap() error { return e.Err }

// UnreachableError says that a server did not answer, or not as a git server
// does. It says nothing about the repository.
type UnreachableError struct {
	URL string // Without credentials.
	Err error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("reading from %s: %v; check the URL, the network, proxy settings and certificates, and try again", e.URL, e.Err)
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// HostKeyError says that the key of an SSH server could not be verified.
type HostKeyError struct {
	URL string // Without credentials.
	Err error
}

func (e *HostKeyError) Error() string {
	return fmt.Sprintf("verifying the host key of %s: %v; give the server's key in known_hosts of the matching entry of the provider's git map", e.URL, e.Err)
}

func (e *HostKeyError) Unwrap() error { return e.Err }

// LFSPointerError says that a file stands in git only as a pointer to Git LFS,
// which is not supported.
type LFSPointerError struct{ Path string }

func (e *LFSPointerError) Error() string {
	return "the file is kept in Git LFS, which is not supported; commit the file itself, or keep it out of the bundle with .fleetignore"
}

// ErrOutsideTree is the cause of the error for a symbolic link whose target is
// not inside the repository.
var ErrOutsideTree = errors.New("the symbolic link leads out of the repository")
