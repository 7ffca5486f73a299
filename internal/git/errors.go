package git

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fetch"
)

// UnsupportedURLError reports that this provider cannot read an address.
type UnsupportedURLError struct {
	URL    string // Without credentials.
	Reason string
}

func (e *UnsupportedURLError) Error() string {
	return fmt.Sprintf("%s cannot be read as a git repository: %s", e.URL, e.Reason)
}

// ObjectFormatError reports that a repository names its objects by another hash than SHA-1.
type ObjectFormatError struct {
	URL    string // Without credentials.
	Format string // For example "sha256".
}

func (e *ObjectFormatError) Error() string {
	return fmt.Sprintf("%s uses the object format %s, and only sha1 is supported; use a copy of the repository in that format, "+
		"or directory for a local checkout", e.URL, e.Format)
}

// AuthenticationError reports that a server requires other credentials, or that the configured
// ones cannot be used.
type AuthenticationError struct {
	URL string // Without credentials.
	// Prefix of the credentials that were used, "" when none are configured for
	// this URL.
	Prefix string
	// Withheld is true if credentials are not used for a URL that a repository names.
	Withheld bool
	// Err is the cause, when it is more than a refusal by the server.
	Err error
}

func (e *AuthenticationError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("authenticating to %s: %v; %s", e.URL, e.Err, adviseCredentials(e.Prefix, e.Withheld))
	}
	return fmt.Sprintf("authenticating to %s: the server refused; %s", e.URL, adviseCredentials(e.Prefix, e.Withheld))
}

func (e *AuthenticationError) Unwrap() error { return e.Err }

// UnknownCredentialsError reports that credentials are not known yet.
type UnknownCredentialsError struct {
	// Prefix of the credentials, "" when the prefix is not known either.
	Prefix string
}

func (e *UnknownCredentialsError) Error() string {
	if e.Prefix == "" {
		return "the provider's git map is not known yet"
	}
	return fmt.Sprintf("the credentials under %q in the provider's git map are not known yet", e.Prefix)
}

// RepositoryNotFoundError reports that a server has no such repository, or hides the repository
// from the credentials used. Servers do not distinguish the two.
type RepositoryNotFoundError struct {
	URL string // Without credentials.
	// Prefix of the credentials that were used, "" when none are configured for
	// this URL.
	Prefix string
	// Withheld is true if credentials are not used for a URL that a repository names.
	Withheld bool
	// Message is the error message of the server, one line or "".
	Message string
}

func (e *RepositoryNotFoundError) Error() string {
	said := ""
	if e.Message != "" {
		said = fmt.Sprintf(" (the server reported: %s)", e.Message)
	}
	return fmt.Sprintf("repository %s does not exist, or these credentials have no access to it; servers do not distinguish the "+
		"two%s; check the URL, then: %s",
		e.URL, said, adviseCredentials(e.Prefix, e.Withheld))
}

func adviseCredentials(prefix string, withheld bool) string {
	if withheld {
		return "credentials are used for a repository that another repository names only if a pattern of sources matches it"
	}
	if prefix == "" {
		return "the provider's git map has no credentials for this URL; add an entry whose key is a prefix of it"
	}
	return fmt.Sprintf("check the credentials under %q in the provider's git map", prefix)
}

// RevisionNotFoundError reports that a readable repository has no such branch, tag or commit.
type RevisionNotFoundError struct {
	Repo     string // Without credentials.
	Revision string // For example "branch main", "revision v1.2.0", "HEAD" or "commit 0123…".
	// Empty is true if the repository has no commit at all.
	Empty bool
	// Err is the refusal of the server, nil if the server just did not list the revision.
	Err error
}

func (e *RevisionNotFoundError) Error() string {
	if e.Empty {
		return fmt.Sprintf("%s of %s does not exist: the repository is empty; push a commit first", e.Revision, e.Repo)
	}
	if e.Err != nil {
		return fmt.Sprintf("%s could not be fetched from %s; it may have been deleted or overwritten, or not been pushed: %v",
			e.Revision, e.Repo, e.Err)
	}
	return fmt.Sprintf("%s of %s does not exist; it may have been deleted or overwritten, or not been pushed (a commit needs "+
		"all of its 40 digits)",
		e.Revision, e.Repo)
}

func (e *RevisionNotFoundError) Unwrap() error { return e.Err }

// refusedError reports that the server refused one request. The server may grant another one.
type refusedError struct{ text string }

func (e *refusedError) Error() string { return "the server refused: " + e.text }

// UnreachableError reports that a server did not respond, or not as a git server does. The
// repository may exist.
type UnreachableError struct {
	URL    string // Without credentials.
	Status int    // Of an HTTP response; 0 if there was none.
	Err    error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("reading from %s: %v; check the URL, the network and proxy settings, and try again", e.URL, e.Err)
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// TimeoutError reports that a server sent nothing for too long.
type TimeoutError struct {
	URL   string        // Without credentials.
	After time.Duration // How long nothing arrived.
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("reading from %s: no data was received for %s; check the server, the network and proxy settings, and try again",
		e.URL, e.After)
}

// Timeout marks the error as a timeout, as net.Error does.
func (e *TimeoutError) Timeout() bool { return true }

// CertificateError reports that the TLS certificate of a server, or of a proxy before it, is not
// trusted.
type CertificateError struct {
	URL string // Without credentials.
	Err error
}

func (e *CertificateError) Error() string {
	return fmt.Sprintf("verifying the certificate of %s: %v; set ca_bundle to the certificate of the authority that signed it, "+
		"in the matching entry of the provider's git map, or in tls for all servers", e.URL, e.Err)
}

func (e *CertificateError) Unwrap() error { return e.Err }

// MovedError reports that a server redirects to another address, from which the repository cannot
// be read.
type MovedError struct {
	URL string // Without credentials.
	To  string // The new address, without credentials and query.
	// Err is why the repository cannot be read from the new address.
	Err error
}

func (e *MovedError) Error() string {
	return fmt.Sprintf("%s redirects to %s, which does not receive the credentials of the former address: %v; if the repository "+
		"has moved, change the URL to the new address",
		e.URL, e.To, e.Err)
}

func (e *MovedError) Unwrap() error { return e.Err }

// HostKeyError reports that the key of an SSH server differs from its keys in known_hosts.
type HostKeyError struct {
	URL         string // Without credentials.
	Fingerprint string // Of the key that the server sent, for example "SHA256:…"; "" when it sent none.
	Err         error
}

func (e *HostKeyError) Error() string {
	return fmt.Sprintf("verifying the host key of %s: %v%s; the connection may be intercepted, or the key of the server was "+
		"changed: compare the key with the published one, then correct known_hosts",
		e.URL, e.Err, showFingerprint(e.Fingerprint))
}

func (e *HostKeyError) Unwrap() error { return e.Err }

// UnknownHostError reports that known_hosts has no key of an SSH server.
type UnknownHostError struct {
	URL         string // Without credentials.
	Fingerprint string // Of the key that the server sent, for example "SHA256:…"; "" when the server was not contacted.
	Err         error
}

func (e *UnknownHostError) Error() string {
	return fmt.Sprintf("verifying the host key of %s: %v%s; compare the key with the published one, and add it to known_hosts "+
		"of the matching entry of the provider's git map",
		e.URL, e.Err, showFingerprint(e.Fingerprint))
}

func (e *UnknownHostError) Unwrap() error { return e.Err }

func showFingerprint(fingerprint string) string {
	if fingerprint == "" {
		return ""
	}
	return " (the key of the server is " + fingerprint + ")"
}

func explainHostKey(at location, fingerprint string, err error) error {
	if mismatch, ok := errors.AsType[*knownhosts.KeyError](err); ok && len(mismatch.Want) == 0 {
		return &UnknownHostError{URL: at.String(), Fingerprint: fingerprint, Err: err}
	}
	return &HostKeyError{URL: at.String(), Fingerprint: fingerprint, Err: err}
}

// PackError reports that the data a server sent is incomplete or damaged.
type PackError struct {
	URL      string // Without credentials.
	Received int64  // Bytes.
	Err      error
}

func (e *PackError) Error() string {
	return fmt.Sprintf("downloading from %s: the received data is incomplete or damaged (%d bytes): %v; try again", e.URL, e.Received, e.Err)
}

func (e *PackError) Unwrap() error { return e.Err }

// SizeError reports that a repository is larger than allowed.
type SizeError struct {
	URL   string // Without credentials.
	Limit int64  // Bytes.
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("downloading from %s: the download exceeds %d MiB; keep large files and their history in another "+
		"repository, or use directory for a local checkout", e.URL, e.Limit>>20)
}

// LFSPointerError reports that git has only a pointer to a file in Git LFS, which is not
// supported.
type LFSPointerError struct{ Path string }

func (e *LFSPointerError) Error() string {
	return "the file is stored in Git LFS, which is not supported; commit the file itself, or exclude it with a .fleetignore"
}

// SubmoduleError reports which submodule could not be read.
type SubmoduleError struct {
	Path string // In the repository that contains it.
	Err  error
}

func (e *SubmoduleError) Error() string {
	return fmt.Sprintf("reading submodule %s: %v", e.Path, e.Err)
}

func (e *SubmoduleError) Unwrap() error { return e.Err }

// ErrOutsideTree is the cause of the error for a symbolic link whose target is
// not inside the repository.
var ErrOutsideTree = errors.New("the symbolic link points outside of the repository")

// known reports whether an error already has a type of this package.
func known(err error) bool {
	switch {
	case isA[*AuthenticationError](err), isA[*RepositoryNotFoundError](err), isA[*UnreachableError](err),
		isA[*MovedError](err), isA[*HostKeyError](err), isA[*UnknownHostError](err), isA[*PackError](err),
		isA[*fetch.ConnectError](err), isA[*SizeError](err), isA[*ObjectFormatError](err), isA[*refusedError](err), isA[*storeError](err):
		return true
	}
	return false
}

func isA[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// explain gives an error of a session a type of this package. ctx is the context that belongs to
// life.
func explain(ctx context.Context, at location, life *fetch.IdleTimeout, err error) error {
	cause := context.Cause(ctx)
	if isA[*fetch.IdleTimeoutError](cause) {
		return &TimeoutError{URL: at.String(), After: life.After}
	}
	if cause != nil {
		return fmt.Errorf("reading from %s: %w", at, cause)
	}
	if isA[*tls.CertificateVerificationError](err) && !isA[*AuthenticationError](err) {
		return &CertificateError{URL: at.String(), Err: err}
	}
	if known(err) {
		return err
	}
	return &UnreachableError{URL: at.String(), Err: err}
}
