package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fetch"
)

const (
	uploadPack = "git-upload-pack"
	refsPath   = "/info/refs"
	// maxRedirects is how many redirects git itself follows.
	maxRedirects = 20
)

// httpWire implements git's smart HTTP protocol (gitprotocol-http(5)). go-git's own client keeps
// only the text of an error's cause, and sends credentials to every path of a host.
type httpWire struct {
	auth   authTransport
	at     location
	client *http.Client
	base   string // URL of the repository, after redirects.
}

func (a access) dialHTTP(at location, admitted fetch.Admission) *httpWire {
	wire := &httpWire{auth: authTransport{a, at, admitted}, at: at, base: at.url()}
	wire.client = &http.Client{Transport: wire.auth, CheckRedirect: wire.follow}
	return wire
}

// authTransport sends every request with the credentials for its own URL only, so that
// credentials do not follow a redirect.
type authTransport struct {
	access   access
	at       location // Of the repository, before redirects.
	admitted fetch.Admission
}

// RoundTrip implements http.RoundTripper.
func (t authTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	at, by := t.accountFor(request)
	var (
		username, password string
		ok                 bool
	)
	err := by.err
	if err == nil {
		username, password, ok, err = by.basic(request.Context(), at.user)
	}
	if err != nil {
		if request.Body != nil {
			_ = request.Body.Close()
		}
		return nil, &AuthenticationError{URL: at.String(), Prefix: by.prefix, Withheld: by.withheld, Err: err}
	}
	trusted := t.admitted.Trusted && at.isOn(t.at) || t.access.boundary.Trusts(request.Context(), at.scope())
	request = request.Clone(request.Context())
	if ok {
		request.SetBasicAuth(username, password)
	}
	return by.transport.To(trusted).RoundTrip(request)
}

// accountFor returns the location and the account for a request, which may be a redirect. A redirect
// gets the same credentials as the repository, or none: a repository must not borrow those of another
// one.
func (t authTransport) accountFor(request *http.Request) (location, account) {
	at := locationOf(request.URL, t.at)
	if leavesPath(at.path) || strings.Contains(strings.ToLower(request.URL.EscapedPath()), "%2f") {
		return at, t.access.anonymous
	}
	origin := t.access.accountFor(t.at, t.admitted.Entitled)
	by := t.access.accountFor(at, t.admitted.Entitled)
	if by.prefix != origin.prefix {
		by = t.access.accountFor(at, false)
	}
	return at, by
}

// isOn reports whether l is on the server of another location.
func (l location) isOn(other location) bool {
	return l.scheme == other.scheme && l.host == other.host && l.port == other.port
}

// locationOf returns the location of a request, which may be a redirect. asked is the location of the
// repository, before redirects.
func locationOf(u *url.URL, asked location) location {
	at := location{
		scheme: strings.ToLower(u.Scheme), host: strings.ToLower(u.Hostname()),
		port: defaultPort(u.Scheme), path: repositoryPath(u.Path),
	}
	if strings.Contains(at.host, ":") {
		at.host = "[" + at.host + "]"
	}
	if port, err := strconv.Atoi(u.Port()); err == nil {
		at.port = port
	}
	if at.isOn(asked) {
		at.user = asked.user
	}
	return at
}

// repositoryPath removes the suffix that a request adds to the path of a repository.
func repositoryPath(path string) string {
	for _, suffix := range []string{refsPath, "/" + uploadPack} {
		if base, ok := strings.CutSuffix(path, suffix); ok {
			return base
		}
	}
	return path
}

var (
	errRedirectedPack = errors.New("only the first request of a conversation may be redirected")
	errRedirectedDown = errors.New("a redirect from https to http is not followed")
	errRedirectedAway = errors.New("the new address is not the address of a git repository; it may be a sign-in page")
	errRedirectedLoop = errors.New("there are too many redirects")
)

// follow accepts or refuses a redirect as git does by default (http.followRedirects = initial).
func (w *httpWire) follow(request *http.Request, via []*http.Request) error {
	var reason error
	last := via[len(via)-1]
	switch {
	case via[0].Method != http.MethodGet:
		reason = errRedirectedPack
	case last.URL.Scheme == "https" && request.URL.Scheme != "https":
		reason = errRedirectedDown
	case request.URL.Scheme != "http" && request.URL.Scheme != "https",
		!strings.HasSuffix(request.URL.Path, refsPath):
		reason = errRedirectedAway
	case len(via) >= maxRedirects:
		reason = errRedirectedLoop
	default:
		return nil
	}
	return &MovedError{URL: w.at.String(), To: w.publicURL(request.URL), Err: reason}
}

// publicURL returns a URL for messages, without user and query, which may contain secrets.
func (w *httpWire) publicURL(u *url.URL) string {
	return locationOf(u, w.at).String()
}

func (w *httpWire) advertise(ctx context.Context, life *fetch.IdleTimeout) (*packp.AdvRefs, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.base+refsPath+"?service="+uploadPack, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("making a request to %s: %w", w.at, err)
	}
	response, err := w.do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	final := *response.Request.URL
	final.RawQuery, final.User = "", nil
	final.Path, final.RawPath = repositoryPath(final.Path), repositoryPath(final.RawPath)
	if err := w.checkAdvertisement(response); err != nil {
		if w.base != final.String() {
			return nil, &MovedError{URL: w.at.String(), To: w.publicURL(response.Request.URL), Err: err}
		}
		return nil, err
	}
	w.base = final.String()
	refs := packp.NewAdvRefs()
	if err := refs.Decode(life.Reader(response.Body)); err != nil {
		return nil, err
	}
	return refs, nil
}

// checkAdvertisement returns an error for a response that is not an advertisement of refs.
func (w *httpWire) checkAdvertisement(response *http.Response) error {
	if err := w.status(response); err != nil {
		return err
	}
	header := response.Header.Get("Content-Type")
	if kind, _, err := mime.ParseMediaType(header); err != nil || kind != "application/x-"+uploadPack+"-advertisement" {
		return &UnreachableError{URL: w.at.String(), Err: fmt.Errorf("the server returned %q and does not respond as a git server", header)}
	}
	return nil
}

// status turns a refusal into an error. The text of the response is left out: it can be any web
// page.
func (w *httpWire) status(response *http.Response) error {
	at, by := w.auth.accountFor(response.Request)
	switch code := response.StatusCode; code {
	case http.StatusOK:
		return nil
	case http.StatusUnauthorized, http.StatusForbidden:
		return &AuthenticationError{URL: at.String(), Prefix: by.prefix, Withheld: by.withheld}
	case http.StatusNotFound, http.StatusGone:
		return &RepositoryNotFoundError{URL: at.String(), Prefix: by.prefix, Withheld: by.withheld}
	default:
		return &UnreachableError{URL: at.String(), Status: code, Err: fmt.Errorf("the server returned status %d %s", code, http.StatusText(code))}
	}
}

// ask sends a request for commits and returns the body of the response.
func (w *httpWire) ask(ctx context.Context, content []byte) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.base+"/"+uploadPack, bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("making a request to %s: %w", w.at, err)
	}
	request.Header.Set("Content-Type", "application/x-"+uploadPack+"-request")
	request.Header.Set("Accept", "application/x-"+uploadPack+"-result")
	response, err := w.do(request)
	if err != nil {
		return nil, err
	}
	if err := w.status(response); err != nil {
		_ = response.Body.Close()
		if answered, ok := errors.AsType[*UnreachableError](err); ok && answered.Status == http.StatusBadRequest {
			return nil, &refusedError{answered.Err.Error()}
		}
		return nil, err
	}
	return response.Body, nil
}

func (w *httpWire) do(request *http.Request) (*http.Response, error) {
	request.Header.Set("User-Agent", capability.DefaultAgent())
	response, err := w.client.Do(request)
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // The URL may be that of a redirect, and contain secrets.
	}
	return response, err
}

func (w *httpWire) close() {}
