package helm

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	// maxIndex and maxArchive bound in bytes what is downloaded.
	maxIndex   = 64 << 20
	maxArchive = 256 << 20
)

// downloader speaks HTTP, with the credentials that belong to each URL.
type downloader struct {
	accounts []account // The longest prefix first; the last one is for all URLs.
	client   *http.Client
	stall    time.Duration
}

// account is how URLs under one prefix are reached.
type account struct {
	prefix    string // Without scheme; "" covers everything.
	scheme    string // "oci" or "" for http and https.
	registry  Registry
	transport *http.Transport
}

func newDownloader(registries map[string]Registry, stall time.Duration) (*downloader, error) {
	d := &downloader{stall: stall}
	for prefix, registry := range registries {
		own, err := newAccount(prefix, registry)
		if err != nil {
			return nil, err
		}
		d.accounts = append(d.accounts, own)
	}
	slices.SortFunc(d.accounts, func(a, b account) int {
		return cmp.Or(cmp.Compare(len(b.prefix), len(a.prefix)), cmp.Compare(a.prefix, b.prefix))
	})
	anyone, err := newAccount("", Registry{})
	d.accounts = append(d.accounts, anyone)
	d.client = &http.Client{Transport: d}
	return d, err
}

func newAccount(prefix string, registry Registry) (account, error) {
	own := account{registry: registry}
	scheme, rest, found := strings.Cut(prefix, "://")
	if !found {
		scheme, rest = "", prefix
	}
	own.prefix = strings.TrimSuffix(rest, "/")
	if scheme == "oci" {
		own.scheme = scheme
	}
	base, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		base = &http.Transport{Proxy: http.ProxyFromEnvironment}
	}
	own.transport = base.Clone()
	if len(registry.CABundle) == 0 && !registry.Insecure {
		return own, nil
	}
	own.transport.TLSClientConfig = &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: registry.Insecure, //nolint:gosec // Only when the user asks for it.
	}
	if len(registry.CABundle) == 0 {
		return own, nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(registry.CABundle) {
		return account{}, fmt.Errorf("ca_bundle of %s holds no certificate in PEM", prefix)
	}
	own.transport.TLSClientConfig.RootCAs = pool
	return own, nil
}

// covers says whether a URL is under the prefix: "host/acme" covers
// "host/acme/web", not "host/acme-too". A registry speaks HTTP below a path of its
// own, where the host alone can tell.
func (a account) covers(u *url.URL) bool {
	if a.prefix == "" {
		return true
	}
	rest, ok := strings.CutPrefix(u.Host+u.EscapedPath(), a.prefix)
	return ok && (rest == "" || rest[0] == '/')
}

func (d *downloader) accountOf(u *url.URL) account {
	for _, own := range d.accounts {
		if own.scheme == "" && own.covers(u) {
			return own
		}
	}
	return d.accounts[len(d.accounts)-1]
}

// registryOf answers the account of a chart in a registry.
func (d *downloader) registryOf(address string) account {
	at := &url.URL{}
	at.Host, at.Path, _ = strings.Cut(strings.TrimPrefix(address, "oci://"), "/")
	at.Path = "/" + at.Path
	for _, own := range d.accounts {
		if own.covers(at) {
			return own
		}
	}
	return d.accounts[len(d.accounts)-1]
}

// RoundTrip sends a request with the credentials of its own URL, so that a
// redirect to elsewhere takes none along.
func (d *downloader) RoundTrip(request *http.Request) (*http.Response, error) {
	own := d.accountOf(request.URL)
	request = request.Clone(request.Context())
	request.Header.Del("Authorization")
	switch {
	case own.registry.Token != "":
		request.Header.Set("Authorization", "Bearer "+own.registry.Token)
	case own.registry.Username != "" || own.registry.Password != "":
		request.SetBasicAuth(own.registry.Username, own.registry.Password)
	case request.URL.User != nil:
		password, _ := request.URL.User.Password()
		request.SetBasicAuth(request.URL.User.Username(), password)
	}
	return own.transport.RoundTrip(request)
}

func (d *downloader) close() {
	for _, own := range d.accounts {
		own.transport.CloseIdleConnections()
	}
}

var errStalled = errors.New("nothing arrived for too long")

// get downloads what is under a URL, at most limit bytes. The error is a
// *FetchError.
func (d *downloader) get(ctx context.Context, address string, limit int64) ([]byte, error) {
	ctx, watch := watching(ctx, d.stall)
	defer watch.stop()
	data, err := d.body(ctx, address, limit, watch)
	if err == nil {
		return data, nil
	}
	failed, ok := errors.AsType[*FetchError](err)
	if !ok {
		failed = &FetchError{URL: withoutUser(address), Reason: reasonOf(ctx, err), Err: withoutURL(err)}
	}
	if failed.Reason == Stalled {
		failed.Err = fmt.Errorf("nothing arrived for %s", d.stall)
	}
	return nil, failed
}

func (d *downloader) body(ctx context.Context, address string, limit int64, watch *stallWatch) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, &FetchError{URL: withoutUser(address), Reason: Malformed, Err: errors.New("it is no URL")}
	}
	response, err := d.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, &FetchError{URL: withoutUser(address), Reason: reasonOfStatus(response.StatusCode), Err: errors.New("the server answers " + response.Status)}
	}
	return readAll(address, response.Body, limit, watch)
}

// readAll reads a download and refuses one that is too large.
func readAll(address string, body io.Reader, limit int64, watch *stallWatch) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(&watched{body, watch}, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, &FetchError{URL: withoutUser(address), Reason: TooLarge, Err: fmt.Errorf("more than %d MiB", limit>>20)}
	}
	return data, nil
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

func reasonOf(ctx context.Context, err error) Reason {
	var (
		authority x509.UnknownAuthorityError
		hostname  x509.HostnameError
		invalid   x509.CertificateInvalidError
	)
	switch {
	case errors.Is(context.Cause(ctx), errStalled):
		return Stalled
	case errors.As(err, &authority), errors.As(err, &hostname), errors.As(err, &invalid):
		return Untrusted
	case errors.Is(err, io.ErrUnexpectedEOF):
		return Truncated
	}
	return Failed
}

// withoutURL takes the URL off an error of net/http, as it may hold a token.
func withoutURL(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}

// stallWatch ends a context when nothing arrives for a while.
type stallWatch struct {
	timer   *time.Timer
	timeout time.Duration
	cancel  context.CancelCauseFunc
}

func watching(ctx context.Context, timeout time.Duration) (context.Context, *stallWatch) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, &stallWatch{timeout: timeout, cancel: cancel, timer: time.AfterFunc(timeout, func() { cancel(errStalled) })}
}

func (w *stallWatch) stop() {
	w.timer.Stop()
	w.cancel(nil)
}

// watched tells a stallWatch that something has arrived.
type watched struct {
	io.Reader

	watch *stallWatch
}

func (r *watched) Read(buffer []byte) (int, error) {
	n, err := r.Reader.Read(buffer)
	if n > 0 {
		r.watch.timer.Reset(r.watch.timeout)
	}
	return n, err
}
