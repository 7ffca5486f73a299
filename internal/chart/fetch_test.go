package chart_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/chart"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/charttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
)

const (
	username = "ci"
	password = "s3cret-of-the-test"
)

// locked requires a login, over TLS.
func locked() charttest.Options {
	return charttest.Options{Username: username, Password: password, TLS: true}
}

// newFetcher trusts a server and has the credentials for it.
func newFetcher(t *testing.T, server *charttest.Server) *chart.Fetcher {
	t.Helper()
	registry := chart.Registry{Username: username, Password: secret.Hide(password), CABundle: server.CA(), PlainHTTP: server.CA() == nil}
	return newFetcherWith(t, chart.FetchConfig{Registries: map[string]chart.Registry{
		server.URL("/"):        registry,
		server.RegistryURL(""): registry,
	}})
}

// newFetcherWith makes a fetcher. Charts may name what has an entry in the registries.
func newFetcherWith(t *testing.T, config chart.FetchConfig) *chart.Fetcher {
	t.Helper()
	for prefix := range config.Registries {
		at, err := chart.ScopeOf(prefix)
		if err != nil {
			t.Fatal(err)
		}
		config.Boundary.Named = append(config.Boundary.Named, at)
	}
	fetcher, err := chart.NewFetcher(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := fetcher.Close(); err != nil {
			t.Error(err)
		}
	})
	return fetcher
}

// web returns a chart whose files contain its version.
func web(version string) charttest.Chart {
	return charttest.Chart{Name: "web", Version: version, Files: map[string]string{
		"Chart.yaml":           "apiVersion: v2\nname: web\nversion: " + version + "\n",
		"values.yaml":          "replicas: 1\n",
		"templates/notes.yaml": "version: " + version + "\n",
		".helmignore":          "*.bak\n",
	}}
}

func webFiles(version string) map[string]string {
	files := web(version).Files
	delete(files, ".helmignore")
	return files
}

func contents(t *testing.T, files []bundle.File) map[string]string {
	t.Helper()
	if !slices.IsSortedFunc(files, func(a, b bundle.File) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the files are not sorted")
	}
	found := map[string]string{}
	for _, file := range files {
		found[file.Name] = string(file.Content)
	}
	return found
}

func TestFetch(t *testing.T) {
	t.Parallel()
	server := charttest.New(t, locked())
	bearer := charttest.New(t, charttest.Options{Username: username, Password: password, TLS: true, Bearer: true})
	plain := charttest.New(t, charttest.Options{})
	for _, version := range []string{"1.2.0", "1.2.10", "1.2.9", "2.0.0+build.5", "2.1.0-rc.1"} {
		server.AddChart(web(version))
		for _, registry := range []*charttest.Server{server, bearer, plain} {
			registry.PushChart("acme/web", web(version))
		}
	}
	repository := server.RepositoryURL()
	tests := []struct {
		name  string
		from  *charttest.Server
		chart bundle.Chart
		want  string // Version.
	}{
		{"newest of a repository", server, bundle.Chart{Repo: repository, Name: "web"}, "2.0.0+build.5"},
		{"range in a repository", server, bundle.Chart{Repo: repository, Name: "web", Version: "~1.2"}, "1.2.10"},
		{"exact in a repository", server, bundle.Chart{Repo: repository, Name: "web", Version: "1.2.9"}, "1.2.9"},
		{"pre-release when it is asked for", server, bundle.Chart{Repo: repository, Name: "web", Version: ">=2.0.0-0"}, "2.1.0-rc.1"},
		{"newest of a registry", server, bundle.Chart{Repo: server.RegistryURL("acme/web")}, "2.0.0+build.5"},
		{"range in a registry", server, bundle.Chart{Name: server.RegistryURL("acme/web"), Version: "1.x"}, "1.2.10"},
		{"exact in a registry", server, bundle.Chart{Repo: server.RegistryURL("acme/web"), Version: "2.0.0+build.5"}, "2.0.0+build.5"},
		{"tag in the address", server, bundle.Chart{Repo: server.RegistryURL("acme/web:1.2.9")}, "1.2.9"},
		{"registry that gives out tokens", bearer, bundle.Chart{Repo: bearer.RegistryURL("acme/web"), Version: "^1"}, "1.2.10"},
		{"registry without TLS", plain, bundle.Chart{Repo: plain.RegistryURL("acme/web")}, "2.0.0+build.5"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			files, pin, err := newFetcher(t, tt.from).Fetch(t.Context(), tt.chart, bundle.Pin{})
			if err != nil {
				t.Fatal(err)
			}
			if pin.Version != tt.want || pin.Digest == "" {
				t.Errorf("pin %+v, want version %s", pin, tt.want)
			}
			if diff := cmp.Diff(webFiles(tt.want), contents(t, files)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			again, samePin, err := newFetcher(t, tt.from).Fetch(t.Context(), tt.chart, pin)
			if err != nil {
				t.Fatalf("fetching what was pinned: %v", err)
			}
			if diff := cmp.Diff(files, again) + cmp.Diff(pin, samePin); diff != "" {
				t.Errorf("fetched again (-first +second):\n%s", diff)
			}
		})
	}
}

func TestFetchOfExactVersionListsNoTags(t *testing.T) {
	t.Parallel()
	server := charttest.New(t, locked())
	server.PushChart("acme/web", web("1.2.0"))
	if _, _, err := newFetcher(t, server).Fetch(t.Context(), bundle.Chart{Repo: server.RegistryURL("acme/web"), Version: "1.2.0"}, bundle.Pin{}); err != nil {
		t.Fatal(err)
	}
	if n := server.Requests("/v2/acme/web/tags/"); n != 0 {
		t.Errorf("tags were listed %d times", n)
	}
}

func TestFetchArchive(t *testing.T) {
	t.Parallel()
	server := charttest.New(t, locked())
	tar := web("1.2.0").Tar()
	sum := sha256.Sum256(tar)
	tests := []struct {
		name, file string
		content    []byte
		suffix     string
	}{
		{name: "tgz", file: "/web.tgz", content: web("1.2.0").Package()},
		{name: "tar.gz", file: "/web.tar.gz", content: web("1.2.0").Package()},
		{name: "tar", file: "/web.tar", content: tar},
		{name: "tar.xz", file: "/web.tar.xz", content: xzOf(t, tar)},
		{name: "tar.zst", file: "/web.tar.zst", content: zstdOf(t, tar)},
		{name: "zip", file: "/web.zip", content: zipOf(t, "web/", webFiles("1.2.0"))},
		{name: "zip without a folder", file: "/flat.zip", content: zipOf(t, "", webFiles("1.2.0"))},
		{name: "folder of an archive", file: "/all.zip", content: zipOf(t, "all-1.0/charts/web/", webFiles("1.2.0")), suffix: "//all-1.0/charts/web"},
		{name: "folder above the chart", file: "/above.zip", content: zipOf(t, "all-1.0/charts/web/", webFiles("1.2.0")), suffix: "//all-1.0/charts"},
		{name: "format in the address", file: "/download", content: tar, suffix: "?archive=tar"},
		{name: "checksum", file: "/sum.tar", content: tar, suffix: "?checksum=sha256:" + hex.EncodeToString(sum[:])},
	}
	fetcher := newFetcher(t, server)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			files, pin, err := fetcher.Fetch(t.Context(), bundle.Chart{Name: server.AddFile(tt.file, tt.content) + tt.suffix}, bundle.Pin{})
			if err != nil {
				t.Fatal(err)
			}
			if pin.Version != "" {
				t.Errorf("version %q", pin.Version)
			}
			if diff := cmp.Diff(webFiles("1.2.0"), contents(t, files)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

func xzOf(t *testing.T, content []byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	writer, err := xz.NewWriter(&packed)
	if err != nil {
		t.Fatal(err)
	}
	_, err = writer.Write(content)
	if err := errors.Join(err, writer.Close()); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

func zstdOf(t *testing.T, content []byte) []byte {
	t.Helper()
	writer, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return writer.EncodeAll(content, nil)
}

func zipOf(t *testing.T, prefix string, files map[string]string) []byte {
	t.Helper()
	var packed bytes.Buffer
	writer := zip.NewWriter(&packed)
	for name, content := range files {
		entry, err := writer.Create(prefix + name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := entry.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

func TestFetchIndexThatLeadsElsewhere(t *testing.T) {
	t.Parallel()
	server := charttest.New(t, locked())
	server.PushChart("acme/web", web("1.2.0"))
	server.AddFile(charttest.IndexPath, fmt.Appendf(nil, `
apiVersion: v1
entries:
  web:
  - {apiVersion: v2, name: web, version: 1.2.0, urls: ["%s:1.2.0"]}
  api:
  - {apiVersion: v2, name: web, version: 1.3.0, urls: ["%s"]}
`, server.RegistryURL("acme/web"), server.AddFile("/files/web-1.3.0.tgz", web("1.3.0").Package())))
	for name, want := range map[string]string{"web": "1.2.0", "api": "1.3.0"} {
		files, pin, err := newFetcher(t, server).Fetch(t.Context(), bundle.Chart{Repo: server.RepositoryURL(), Name: name}, bundle.Pin{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(webFiles(want), contents(t, files)); diff != "" || pin.Version != want {
			t.Errorf("version %s, files (-want +got):\n%s", pin.Version, diff)
		}
	}
}

func TestFetchOnce(t *testing.T) {
	t.Parallel()
	server := charttest.New(t, charttest.Options{TLS: true})
	server.AddChart(web("1.2.0"))
	blob := server.PushChart("acme/web", web("1.2.0"))
	fetcher := newFetcher(t, server)
	var callers sync.WaitGroup
	for i := range 40 {
		callers.Go(func() {
			chart := bundle.Chart{Repo: server.RepositoryURL(), Name: "web", Version: []string{"", "1.x", "1.2.0"}[i%3]}
			if i%2 == 0 {
				chart = bundle.Chart{Repo: server.RegistryURL("acme/web"), Version: chart.Version}
			}
			if _, _, err := fetcher.Fetch(t.Context(), chart, bundle.Pin{}); err != nil {
				t.Error(err)
			}
		})
	}
	callers.Wait()
	for _, path := range []string{charttest.IndexPath, charttest.ArchivePath("web", "1.2.0"), "/v2/acme/web/tags/", "/v2/acme/web/manifests/", blob} {
		if n := server.Requests(path); n != 1 {
			t.Errorf("%d requests for %s, want 1", n, path)
		}
	}
}

func TestFetchAfterTheFirstGaveUp(t *testing.T) {
	t.Parallel()
	server := charttest.New(t, charttest.Options{})
	server.AddChart(web("1.2.0"))
	server.Break(charttest.IndexPath, charttest.HangSilently)
	fetcher := newFetcher(t, server)
	chart := bundle.Chart{Repo: server.RepositoryURL(), Name: "web"}

	ctx, cancel := context.WithCancel(t.Context())
	gaveUp := make(chan error)
	go func() {
		_, _, err := fetcher.Fetch(ctx, chart, bundle.Pin{})
		gaveUp <- err
	}()
	for server.Requests(charttest.IndexPath) == 0 {
		time.Sleep(time.Millisecond) // Until the request has arrived.
	}
	cancel()
	if err := <-gaveUp; !errors.Is(err, context.Canceled) {
		t.Errorf("the first: %v, want context.Canceled", err)
	}
	for server.Running() > 0 {
		time.Sleep(time.Millisecond) // Until the request has ended. A fetch before that would share it.
	}
	server.Break(charttest.IndexPath, 0)
	if _, _, err := fetcher.Fetch(t.Context(), chart, bundle.Pin{}); err != nil {
		t.Errorf("the second: %v", err)
	}
}

func TestFetchAgainWhenTheServerIsBusy(t *testing.T) {
	t.Parallel()
	server := charttest.New(t, charttest.Options{})
	server.AddChart(web("1.2.0"))
	server.Break(charttest.IndexPath, charttest.FailOnce)
	if _, _, err := newFetcher(t, server).Fetch(t.Context(), bundle.Chart{Repo: server.RepositoryURL(), Name: "web"}, bundle.Pin{}); err != nil {
		t.Error(err)
	}
}
