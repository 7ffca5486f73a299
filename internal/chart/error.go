package chart

import (
	"context"
	"crypto/md5"  //nolint:gosec // For checksums that users have configured.
	"crypto/sha1" //nolint:gosec // The same.
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"strings"

	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/command"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fetch"
)

// Reason describes why a fetch failed.
type Reason string

// The reasons of a FetchError.
const (
	Unauthorized Reason = "the server refused the credentials"
	NoLogin      Reason = "there are no credentials"
	Untrusted    Reason = "the server's certificate is not trusted"
	NotFound     Reason = "not found"
	Truncated    Reason = "the download was interrupted"
	Stalled      Reason = "the server stopped sending"
	Mismatch     Reason = "the checksum does not match"
	Changed      Reason = "the content has changed"
	TooLarge     Reason = "the content is too large"
	Malformed    Reason = "the content cannot be read"
	Failed       Reason = "the request failed"
)

// FetchError describes why a chart, an index or a dependency could not be fetched.
type FetchError struct {
	// URL contains no credentials.
	URL    string
	Reason Reason
	Err    error
}

func (e *FetchError) Error() string {
	text := fmt.Sprintf("fetching %s: %s", e.URL, e.Reason)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	switch e.Reason {
	case Unauthorized:
		text += "; set credentials for it in the provider, under registries"
	case Untrusted:
		text += "; set ca_bundle in the provider, under registries or under tls, to the certificate of the authority"
	case NoLogin, NotFound, Truncated, Stalled, Mismatch, Changed, TooLarge, Malformed, Failed:
	}
	return text
}

// Unwrap gives the cause.
func (e *FetchError) Unwrap() error { return e.Err }

// explain turns an error of a request to address into a *FetchError.
func explain(address string, err error) error {
	if failed, ok := errors.AsType[*FetchError](err); ok {
		return failed
	}
	failed := &FetchError{URL: shown(address), Reason: reasonOf(err), Err: withoutURL(err)}
	if answer, ok := errors.AsType[*errcode.ErrorResponse](err); ok {
		// Its text contains a URL, which may be signed.
		failed.Reason, failed.Err = reasonOfStatus(answer.StatusCode), answered(answer.StatusCode)
	}
	if unread, ok := errors.AsType[*command.CredentialsError](err); ok {
		failed.Err = unread // Without the request that needed them.
	}
	return failed
}

func reasonOf(err error) Reason {
	var (
		authority x509.UnknownAuthorityError
		hostname  x509.HostnameError
		invalid   x509.CertificateInvalidError
		idle      *fetch.IdleTimeoutError
		helper    *command.CredentialsError
	)
	switch {
	case errors.As(err, &helper):
		return NoLogin
	case errors.As(err, &idle):
		return Stalled
	case errors.As(err, &authority), errors.As(err, &hostname), errors.As(err, &invalid):
		return Untrusted
	case errors.Is(err, io.ErrUnexpectedEOF):
		return Truncated
	case errors.Is(err, errdef.ErrNotFound):
		return NotFound
	case errors.Is(err, errdef.ErrSizeExceedsLimit), errors.Is(err, errdef.ErrTooManyPages):
		return TooLarge
	case errors.Is(err, auth.ErrBasicCredentialNotFound):
		return Unauthorized
	}
	return Failed
}

func reasonOfStatus(status int) Reason {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return Unauthorized
	case http.StatusNotFound, http.StatusGone:
		return NotFound
	}
	return Failed
}

func answered(status int) error {
	return fmt.Errorf("the server returned status %d %s", status, http.StatusText(status))
}

// withoutURL removes the URL from an error of net/http, because the URL may contain a token.
func withoutURL(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}

// shown returns a URL without the parts that may be secret: a user, or a signature in the query.
func shown(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return "(an address that is not a valid URL)"
	}
	parsed.User = nil
	parsed.RawQuery = ""
	parsed.Fragment = ""
	return parsed.String()
}

// checksum is the expected checksum of a download, and the hash that computes the actual one.
type checksum struct {
	algorithm, want string
	hash.Hash
}

// newChecksum parses "sha256:0123…"; "" accepts any content.
func newChecksum(text string) checksum {
	algorithm, want, _ := strings.Cut(text, ":")
	sum := checksum{algorithm: algorithm, want: want}
	switch algorithm {
	case "md5":
		sum.Hash = md5.New() //nolint:gosec // See the import.
	case "sha1":
		sum.Hash = sha1.New() //nolint:gosec // See the import.
	case "sha512":
		sum.Hash = sha512.New()
	default:
		sum.Hash = sha256.New()
	}
	return sum
}

// verify compares the computed checksum with the expected one. The error is a *FetchError.
func (c checksum) verify(address string) error {
	got := hex.EncodeToString(c.Sum(nil))
	if c.want == "" || strings.EqualFold(got, c.want) {
		return nil
	}
	return &FetchError{URL: shown(address), Reason: Mismatch, Err: fmt.Errorf("%s is %s, not %s", c.algorithm, got, c.want)}
}

// cancelled returns an error for an ended context. It is not a *FetchError, because the fetched
// content is not the cause.
func cancelled(ctx context.Context, doing string) error {
	return fmt.Errorf("%s: %w", doing, context.Cause(ctx))
}
