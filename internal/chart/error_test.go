package chart_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/chart"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/charttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fetch"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
)

func TestFetchErrors(t *testing.T) {
	t.Parallel()
	const short = 300 * time.Millisecond
	server := charttest.New(t, locked())
	bearer := charttest.New(t, charttest.Options{Username: username, Password: password, TLS: true, Bearer: true})
	for _, version := range []string{"1.0.0", "1.1.0", "2.0.0-rc.1"} {
		server.AddChart(web(version))
		server.PushChart("acme/web", web(version))
		bearer.PushChart("acme/web", web(version))
	}
	server.PushImage("acme/image", "1.0.0")
	closed := closedPort(t)

	// Each fault has a server path of its own.
	broken := func(name string, fault charttest.Fault) string {
		url := server.AddFile("/"+name+".tgz", web("1.0.0").Package())
		server.Break("/"+name+".tgz", fault)
		return url
	}
	brokenIn := func(name string, fault charttest.Fault) string {
		server.Break(server.PushChart(name, charttest.Chart{Name: name, Version: "1.0.0"}), fault)
		return server.RegistryURL(name)
	}
	page := server.AddFile("/page/index.yaml", []byte("<html><body>Welcome</body></html>"))
	bomb := server.AddFile("/bomb/index.yaml", aliases())
	noChart := server.AddFile("/nochart.tgz", charttest.Chart{Name: "x", Files: map[string]string{"Chart.yaml": "", "a": ""}}.Package())
	repository, registry := server.RepositoryURL(), server.RegistryURL("acme/web")

	good := func(s *charttest.Server) chart.Registry {
		return chart.Registry{Username: username, Password: secret.Hide(password), CABundle: s.CA()}
	}
	wrong := func(s *charttest.Server) chart.Registry {
		return chart.Registry{Username: username, Password: secret.Hide("wrong-" + password), CABundle: s.CA()}
	}
	anonymous := func(s *charttest.Server) chart.Registry { return chart.Registry{CABundle: s.CA()} }
	distrustful := func(*charttest.Server) chart.Registry {
		return chart.Registry{Username: username, Password: secret.Hide(password)}
	}

	tests := []struct {
		name   string
		chart  bundle.Chart
		access func(*charttest.Server) chart.Registry // nil is good.
		reason chart.Reason
		text   string
	}{
		{"repository, wrong password", bundle.Chart{Repo: repository, Name: "web"}, wrong, chart.Unauthorized, "registries"},
		{"repository, no password", bundle.Chart{Repo: repository, Name: "web"}, anonymous, chart.Unauthorized, "401"},
		{"repository, unknown authority", bundle.Chart{Repo: repository, Name: "web"}, distrustful, chart.Untrusted, "ca_bundle"},
		{"repository that is not there", bundle.Chart{Repo: server.URL("/nowhere"), Name: "web"}, nil, chart.NotFound, "/nowhere/index.yaml"},
		{"repository that is a page", bundle.Chart{Repo: strings.TrimSuffix(page, "/index.yaml"), Name: "web"}, nil, chart.Malformed, "not the index of a Helm repository"},
		{"repository that is a YAML bomb", bundle.Chart{Repo: strings.TrimSuffix(bomb, "/index.yaml"), Name: "web"}, nil, chart.Malformed, "excessive aliasing"},
		{"repository without the chart", bundle.Chart{Repo: repository, Name: "api"}, nil, chart.NotFound, `no chart "api"`},
		{"repository without the version", bundle.Chart{Repo: repository, Name: "web", Version: "^3"}, nil, chart.NotFound, `no version "^3"; available: 2.0.0-rc.1, 1.1.0, 1.0.0`},
		{"repository, bad version", bundle.Chart{Repo: repository, Name: "web", Version: "latest!"}, nil, chart.NotFound, "nor a range of versions"},
		{"repository without a server", bundle.Chart{Repo: "http://" + closed, Name: "web"}, nil, chart.Failed, "refused"},

		{"registry, wrong password", bundle.Chart{Repo: registry}, wrong, chart.Unauthorized, "registries"},
		{"registry, no password", bundle.Chart{Repo: registry}, anonymous, chart.Unauthorized, "registries"},
		{"registry with tokens, wrong password", bundle.Chart{Repo: bearer.RegistryURL("acme/web")}, wrong, chart.Unauthorized, "401"},
		{"registry with tokens, no password", bundle.Chart{Repo: bearer.RegistryURL("acme/web"), Version: "1.0.0"}, anonymous, chart.Unauthorized, "401"},
		{"registry, unknown authority", bundle.Chart{Repo: registry}, distrustful, chart.Untrusted, "ca_bundle"},
		{"registry without the chart", bundle.Chart{Repo: server.RegistryURL("acme/nowhere")}, nil, chart.NotFound, "acme/nowhere"},
		{"registry without the version", bundle.Chart{Repo: registry, Version: "1.0.7"}, nil, chart.NotFound, `no version "1.0.7"; available: 2.0.0-rc.1, 1.1.0, 1.0.0`},
		{"registry without a version in range", bundle.Chart{Repo: registry, Version: "^3"}, nil, chart.NotFound, `no version "^3"`},
		{"registry with an image", bundle.Chart{Repo: server.RegistryURL("acme/image"), Version: "1.0.0"}, nil, chart.Malformed, "no Helm chart"},
		{"registry, two versions", bundle.Chart{Repo: registry + ":1.0.0", Version: "1.1.0"}, nil, chart.NotFound, `"1.1.0"`},
		{"registry, bad address", bundle.Chart{Repo: "oci://UPPER/ CASE"}, nil, chart.Malformed, "not the address"},
		{"registry without a server", bundle.Chart{Repo: "oci://" + closed + "/web"}, nil, chart.Failed, "refused"},
		{"registry breaks off", bundle.Chart{Repo: brokenIn("cut", charttest.Truncate)}, nil, chart.Truncated, ""},
		{"registry corrupts", bundle.Chart{Repo: brokenIn("bent", charttest.Corrupt)}, nil, chart.Mismatch, "sha256"},
		{"registry hangs", bundle.Chart{Repo: brokenIn("slow", charttest.Hang)}, nil, chart.Stalled, short.String()},
		{"registry is down", bundle.Chart{Repo: brokenIn("down", charttest.Fail)}, nil, chart.Failed, "503"},

		{"archive, wrong password", bundle.Chart{Name: server.AddFile("/web.tgz", nil)}, wrong, chart.Unauthorized, "registries"},
		{"archive, unknown authority", bundle.Chart{Name: server.URL("/web.tgz")}, distrustful, chart.Untrusted, "ca_bundle"},
		{"archive that is not there", bundle.Chart{Name: server.URL("/nowhere.tgz")}, nil, chart.NotFound, "404"},
		{"archive breaks off", bundle.Chart{Name: broken("cut", charttest.Truncate)}, nil, chart.Truncated, ""},
		{"archive hangs", bundle.Chart{Name: broken("slow", charttest.Hang)}, nil, chart.Stalled, short.String()},
		{"archive hangs silently", bundle.Chart{Name: broken("silent", charttest.HangSilently)}, nil, chart.Stalled, short.String()},
		{"archive is corrupt", bundle.Chart{Name: broken("bent", charttest.Corrupt)}, nil, chart.Malformed, "unpacking"},
		{"archive of another sum", bundle.Chart{Name: server.AddFile("/sum.tgz", web("1.0.0").Package()) + "?checksum=md5:" + strings.Repeat("0", 32)}, nil, chart.Mismatch, "md5 is"},
		{"archive that is a page", bundle.Chart{Name: server.AddFile("/page.tgz", []byte("<html><body>Welcome</body></html>"))}, nil, chart.Malformed, "gzip"},
		{"archive without a chart", bundle.Chart{Name: noChart + "//y"}, nil, chart.Malformed, "Chart.yaml"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.access == nil {
				tt.access = good
			}
			var stall time.Duration
			if tt.reason == chart.Stalled { // In other tests, a busy machine must not look like a silent server.
				stall = short
			}
			fetcher := newFetcherWith(t, chart.FetchConfig{StallTimeout: stall, Registries: map[string]chart.Registry{
				server.URL("/"): tt.access(server), server.RegistryURL(""): tt.access(server), bearer.RegistryURL(""): tt.access(bearer),
				"oci://" + closed: {PlainHTTP: true},
			}})
			_, _, err := fetcher.Fetch(t.Context(), tt.chart, bundle.Pin{})
			failed, ok := errors.AsType[*chart.FetchError](err)
			if !ok || failed.Reason != tt.reason || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("Fetch: %T %v\nwant reason %q and %q in it", err, err, tt.reason, tt.text)
			}
			if err != nil && strings.Contains(err.Error(), password) {
				t.Error("the error tells the password")
			}
		})
	}
}

// aliases is a small document with ten billion entries.
func aliases() []byte {
	document := "apiVersion: v1\na0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := range 10 {
		document += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 10), ","))
	}
	return []byte(document)
}

// closedPort returns an address on which no server listens.
func closedPort(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return listener.Addr().String()
}

func TestFetchChanged(t *testing.T) {
	t.Parallel()
	server := charttest.New(t, locked())
	changed := web("1.0.0")
	changed.Files["values.yaml"] = "replicas: 100\n"
	charts := []bundle.Chart{
		{Repo: server.RepositoryURL(), Name: "web"},
		{Repo: server.RegistryURL("acme/web")},
		{Name: server.URL("/web.tgz")},
	}
	publish := func(chart charttest.Chart) {
		server.AddChart(chart)
		server.PushChart("acme/web", chart)
		server.AddFile("/web.tgz", chart.Package())
	}
	publish(web("1.0.0"))
	pins := make([]bundle.Pin, len(charts))
	for i, chart := range charts {
		var err error
		if _, pins[i], err = newFetcher(t, server).Fetch(t.Context(), chart, bundle.Pin{}); err != nil {
			t.Fatal(err)
		}
	}

	publish(web("2.0.0"))
	for i, chart := range charts[:2] { // The archive has no version.
		if _, pin, err := newFetcher(t, server).Fetch(t.Context(), chart, pins[i]); err != nil || pin.Version != "1.0.0" {
			t.Errorf("%+v is pinned to 1.0.0: %+v, %v", chart, pin, err)
		}
	}
	publish(changed)
	// After a tag was moved, the old content is fetched by its digest as long as it exists.
	files, pin, err := newFetcher(t, server).Fetch(t.Context(), charts[1], pins[1])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(webFiles("1.0.0"), contents(t, files)); diff != "" || !cmp.Equal(pin, pins[1]) {
		t.Errorf("not what was planned, but %+v (-want +got):\n%s", pin, diff)
	}
	server.DeleteManifest("acme/web", pins[1].Reference)
	for i, wanted := range charts {
		_, _, err := newFetcher(t, server).Fetch(t.Context(), wanted, pins[i])
		if failed, ok := errors.AsType[*chart.FetchError](err); !ok || failed.Reason != chart.Changed {
			t.Errorf("%+v: %v, want %q", wanted, err, chart.Changed)
		}
	}
}

// One operation sends a single request to a server that hangs, even for many charts.
func TestFetchRemembersFailures(t *testing.T) {
	t.Parallel()
	operation := fetch.RememberFailures(t.Context())
	server := charttest.New(t, charttest.Options{})
	server.Break(charttest.IndexPath, charttest.HangSilently)
	fetcher := newFetcherWith(t, chart.FetchConfig{StallTimeout: 5 * time.Second})
	for i := range 50 {
		chart := bundle.Chart{Repo: server.RepositoryURL(), Name: fmt.Sprint("web", i)}
		if _, _, err := fetcher.Fetch(operation, chart, bundle.Pin{}); err == nil {
			t.Fatal("a server that hangs has answered")
		}
	}
	if n := server.Requests(charttest.IndexPath); n != 1 {
		t.Errorf("%d requests to a server that hangs, want 1", n)
	}
}

// After a failed fetch, the next caller fetches again. Requests with these faults are not
// retried.
//
//nolint:tparallel // the rows share the faults of one server
func TestFetchAfterAFailure(t *testing.T) {
	t.Parallel()
	server := charttest.New(t, charttest.Options{})
	server.AddChart(web("1.0.0"))
	blob := server.PushChart("acme/web", web("1.0.0"))
	fromRepository := bundle.Chart{Repo: server.RepositoryURL(), Name: "web"}
	fromRegistry := bundle.Chart{Repo: server.RegistryURL("acme/web")}
	tests := []struct {
		name  string
		chart bundle.Chart
		path  string
	}{
		{"index", fromRepository, charttest.IndexPath},
		{"archive", fromRepository, charttest.ArchivePath("web", "1.0.0")},
		{"archive alone", bundle.Chart{Name: server.AddFile("/web.tgz", web("1.0.0").Package())}, "/web.tgz"},
		{"tags", fromRegistry, "/v2/acme/web/tags/list"},
		{"manifest", fromRegistry, "/v2/acme/web/manifests/1.0.0"},
		{"layer", fromRegistry, blob},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { // the faults of one server
			fetcher := newFetcherWith(t, chart.FetchConfig{Registries: map[string]chart.Registry{server.RegistryURL(""): {PlainHTTP: true}}})
			server.Break(tt.path, charttest.Truncate)
			_, _, err := fetcher.Fetch(t.Context(), tt.chart, bundle.Pin{})
			server.Break(tt.path, 0)
			if err == nil {
				t.Error("a download that broke off is a chart")
			}
			files, _, err := fetcher.Fetch(t.Context(), tt.chart, bundle.Pin{})
			if err != nil {
				t.Fatalf("the second: %v", err)
			}
			if diff := cmp.Diff(webFiles("1.0.0"), contents(t, files)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCredentialsGoNowhereElse(t *testing.T) {
	t.Parallel()
	own := charttest.New(t, charttest.Options{Username: username, Password: password})
	other := charttest.New(t, charttest.Options{})
	other.AddFile("/web.tgz", web("1.0.0").Package())
	other.AddChart(web("1.0.0"))
	registry := chart.Registry{Username: username, Password: secret.Hide(password), PlainHTTP: true}
	blob := own.PushChart("acme/web", web("1.0.0"))
	own.Redirect(blob, other.AddFile("/storage", web("1.0.0").Package()))

	tests := []struct {
		name   string
		prefix string
		chart  bundle.Chart
	}{
		{"redirect", own.URL("/"), bundle.Chart{Name: own.Redirect("/moved.tgz", other.URL("/web.tgz"))}},
		{"redirect of a registry", own.RegistryURL(""), bundle.Chart{Repo: own.RegistryURL("acme/web")}},
		{"index", own.URL("/"), bundle.Chart{Repo: elsewhere(own, other.URL("/web.tgz")), Name: "web"}},
		{"another server", own.URL("/"), bundle.Chart{Repo: other.RepositoryURL(), Name: "web"}},
		{"another path", other.URL("/chart"), bundle.Chart{Repo: other.RepositoryURL(), Name: "web"}},
		{"out of the path", other.URL("/files"), bundle.Chart{Name: other.URL("/files/../web.tgz")}},
		{"out of the path, with an encoded slash", other.URL("/files"), bundle.Chart{Name: other.URL("/files/..%2Fweb.tgz")}},
		{"into the path", other.URL("/files"), bundle.Chart{Name: other.URL("/web/../files/web.tgz")}},
		{"into the path, with an encoded slash", other.URL("/files"), bundle.Chart{Name: other.URL("/web/..%2Ffiles/web.tgz")}},
		{"out of the path, encoded", other.URL("/files"), bundle.Chart{Name: other.URL("/files/%2e%2e/web.tgz")}},
		{"for a registry", other.RegistryURL(""), bundle.Chart{Repo: other.RepositoryURL(), Name: "web"}},
		{"with TLS only", strings.Replace(other.URL("/"), "http:", "https:", 1), bundle.Chart{Repo: other.RepositoryURL(), Name: "web"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			at, err := chart.ScopeOf(other.URL("/"))
			if err != nil {
				t.Fatal(err)
			}
			fetcher := newFetcherWith(t, chart.FetchConfig{Registries: map[string]chart.Registry{tt.prefix: registry}, Boundary: fetch.Boundary{Named: []fetch.Scope{at}}})
			if _, _, err := fetcher.Fetch(t.Context(), tt.chart, bundle.Pin{}); err != nil && !strings.Contains(err.Error(), "404") {
				t.Error(err)
			}
		})
	}
	t.Cleanup(func() {
		if sent := other.Authorizations(); len(sent) > 0 {
			t.Errorf("another server got %q", sent)
		}
		if other.Requests("/storage") == 0 {
			t.Error("the registry's redirect was not followed")
		}
		if len(own.Authorizations()) == 0 {
			t.Error("the own server got none")
		}
	})
}

// elsewhere adds a repository whose index refers to another server.
func elsewhere(s *charttest.Server, url string) string {
	s.AddFile("/elsewhere/index.yaml", fmt.Appendf(nil, "apiVersion: v1\nentries: {web: [{apiVersion: v2, name: web, version: 1.0.0, urls: [%q]}]}\n", url))
	return s.URL("/elsewhere")
}

func TestLongestPrefixCounts(t *testing.T) {
	t.Parallel()
	server := charttest.New(t, charttest.Options{})
	server.AddChart(web("1.0.0"))
	fetcher := newFetcherWith(t, chart.FetchConfig{Registries: map[string]chart.Registry{
		server.URL(""):                    {Token: secret.Hide("host")},
		server.URL("/charts/"):            {Username: "u", Password: secret.Hide("p")},
		server.URL("/charts/web"):         {Token: secret.Hide("no part of the path")},
		server.URL("/charts/index.yaml/"): {Token: secret.Hide("index")},
	}})
	if _, _, err := fetcher.Fetch(t.Context(), bundle.Chart{Repo: server.RepositoryURL(), Name: "web"}, bundle.Pin{}); err != nil {
		t.Fatal(err)
	}
	want := []string{"Bearer index", "Basic " + base64.StdEncoding.EncodeToString([]byte("u:p"))}
	if got := server.Authorizations(); strings.Join(got, ",") != strings.Join(want, ",") {
		t.Errorf("sent %q, want %q", got, want)
	}
}

func TestTokenOfARegistry(t *testing.T) {
	t.Parallel()
	server := charttest.New(t, charttest.Options{Username: "token", Password: "t0ken"})
	server.PushChart("acme/web", web("1.0.0"))
	fetcher := newFetcherWith(t, chart.FetchConfig{Registries: map[string]chart.Registry{server.RegistryURL("acme"): {Token: secret.Hide("t0ken"), PlainHTTP: true}}})
	if _, _, err := fetcher.Fetch(t.Context(), bundle.Chart{Repo: server.RegistryURL("acme/web")}, bundle.Pin{}); err != nil {
		t.Error(err)
	}
}

func TestRedirectOutOfTLS(t *testing.T) {
	t.Parallel()
	server := charttest.New(t, locked())
	plain := charttest.New(t, charttest.Options{})
	url := server.Redirect("/moved.tgz", plain.AddFile("/web.tgz", web("1.0.0").Package()))
	_, _, err := newFetcher(t, server).Fetch(t.Context(), bundle.Chart{Name: url}, bundle.Pin{})
	if failed, ok := errors.AsType[*chart.FetchError](err); !ok || failed.Reason != chart.Failed || plain.Requests("/") > 0 {
		t.Errorf("Fetch: %v, %d requests", err, plain.Requests("/"))
	}
}

func TestInsecure(t *testing.T) {
	t.Parallel()
	server := charttest.New(t, charttest.Options{TLS: true})
	server.AddChart(web("1.0.0"))
	fetcher := newFetcherWith(t, chart.FetchConfig{Registries: map[string]chart.Registry{server.URL("/"): {Insecure: true}}})
	if _, _, err := fetcher.Fetch(t.Context(), bundle.Chart{Repo: server.RepositoryURL(), Name: "web"}, bundle.Pin{}); err != nil {
		t.Error(err)
	}
}

func TestErrorsHideWhatIsInURLs(t *testing.T) {
	t.Parallel()
	server := charttest.New(t, charttest.Options{})
	for _, path := range []string{"/a.tgz?archive=tgz&signature=s3cret", "/b.tgz"} {
		address := strings.Replace(server.URL(path), "http://", "http://user:s3cret@", 1)
		_, _, err := newFetcherWith(t, chart.FetchConfig{}).Fetch(t.Context(), bundle.Chart{Name: address}, bundle.Pin{})
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("Fetch: %v", err)
		}
	}
}

func TestNewFetcherErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, prefix string
		registry     chart.Registry
	}{
		{"no scheme", "ghcr.io/acme", chart.Registry{}},
		{"another scheme", "ssh://ghcr.io", chart.Registry{}},
		{"user", "https://user:s3cret@charts.example.com", chart.Registry{}},
		{"no host", "oci:///acme", chart.Registry{}},
		{"certificate", "https://charts.example.com", chart.Registry{CABundle: []byte("no PEM")}},
		{"token and password", "https://charts.example.com", chart.Registry{Token: secret.Hide("a"), Password: secret.Hide("b")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := chart.NewFetcher(chart.FetchConfig{Registries: map[string]chart.Registry{tt.prefix: tt.registry}})
			if wrong, ok := errors.AsType[*chart.RegistryError](err); !ok || strings.Contains(wrong.Error(), "s3cret") {
				t.Errorf("NewFetcher: %v, want a *RegistryError", err)
			}
		})
	}
}

func TestFetchRefusesLargeDownloads(t *testing.T) {
	t.Parallel()
	server := charttest.New(t, charttest.Options{})
	server.AddFile("/large/index.yaml", bytes.Repeat([]byte("# padding\n"), 4<<20))
	_, _, err := newFetcherWith(t, chart.FetchConfig{}).Fetch(t.Context(), bundle.Chart{Repo: server.URL("/large"), Name: "web"}, bundle.Pin{})
	if failed, ok := errors.AsType[*chart.FetchError](err); !ok || failed.Reason != chart.TooLarge {
		t.Errorf("Fetch: %v, want %q", err, chart.TooLarge)
	}
}
