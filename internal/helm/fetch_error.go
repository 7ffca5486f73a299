package helm

import (
	"crypto/md5"  //nolint:gosec // Checksums that people have written down.
	"crypto/sha1" //nolint:gosec // The same.
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"os"
	"strings"

	"helm.sh/helm/v3/pkg/repo"
)

// Reason says why something could not be fetched.
type Reason string

// The reasons of a FetchError.
const (
	Unauthorized Reason = "the server wants other credentials"
	Untrusted    Reason = "the server's certificate is not trusted"
	NotFound     Reason = "not found"
	Truncated    Reason = "the download broke off"
	Stalled      Reason = "the server does not go on"
	Mismatch     Reason = "the checksum is another one"
	Changed      Reason = "it has changed"
	TooLarge     Reason = "it is too large"
	Malformed    Reason = "it cannot be read"
	Failed       Reason = "the request failed"
)

// FetchError says why a chart, an index or a dependency could not be fetched.
type FetchError struct {
	// URL holds no credentials.
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
		text += "; give the provider credentials for it, under registries"
	case Untrusted:
		text += "; give the provider the authority's certificate, as ca_bundle under registries"
	case NotFound, Truncated, Stalled, Mismatch, Changed, TooLarge, Malformed, Failed:
	}
	return text
}

// Unwrap gives the cause.
func (e *FetchError) Unwrap() error { return e.Err }

// verify compares an archive with its checksum, "sha256:0123…"; "" is any.
func verify(url string, archive []byte, checksum string) error {
	if checksum == "" {
		return nil
	}
	algorithm, want, _ := strings.Cut(checksum, ":")
	var sum hash.Hash
	switch algorithm {
	case "md5":
		sum = md5.New() //nolint:gosec // See the import.
	case "sha1":
		sum = sha1.New() //nolint:gosec // See the import.
	case "sha512":
		sum = sha512.New()
	default:
		sum = sha256.New()
	}
	sum.Write(archive)
	if got := hex.EncodeToString(sum.Sum(nil)); !strings.EqualFold(got, want) {
		return &FetchError{URL: withoutUser(url), Reason: Mismatch, Err: fmt.Errorf("%s is %s, not %s", algorithm, got, want)}
	}
	return nil
}

// readIndex reads an index.yaml. Helm reads it from files only.
func readIndex(data []byte) (*repo.IndexFile, error) {
	file, err := os.CreateTemp("", "fleet-index-*.yaml")
	if err != nil {
		return nil, fmt.Errorf("making a temporary file: %w", err)
	}
	defer func() { _ = os.Remove(file.Name()) }()
	_, err = file.Write(data)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("writing a temporary file: %w", err)
	}
	return repo.LoadIndexFile(file.Name())
}

// withoutUser cuts what stands before the host of a URL; it may be a token.
func withoutUser(address string) string {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		return address
	}
	host, path, _ := strings.Cut(rest, "/")
	return scheme + "://" + host[strings.LastIndex(host, "@")+1:] + "/" + path
}
