package chart_test

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/cli"
	"helm.sh/helm/v3/pkg/downloader"
	"helm.sh/helm/v3/pkg/getter"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/chart"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/charttest"
)

func library(name, version string) charttest.Chart {
	return charttest.Chart{Name: name, Version: version}
}

func metadataOf(name, version string, dependencies ...string) string {
	text := fmt.Sprintf("apiVersion: v2\nname: %s\nversion: %s\n", name, version)
	if len(dependencies) > 0 {
		text += "dependencies:\n- " + strings.Join(dependencies, "\n- ") + "\n"
	}
	return text
}

func filesOf(contents map[string]string) []bundle.File {
	var files []bundle.File
	for name, content := range contents {
		files = append(files, bundle.File{Name: name, Content: []byte(content)})
	}
	return files
}

func TestDependencies(t *testing.T) {
	t.Parallel()
	server := charttest.New(t, charttest.Options{})
	server.AddChart(library("redis", "1.0.0"))
	redis := func(rest string) string {
		return fmt.Sprintf("{name: redis, repository: %q, %s}", server.RepositoryURL()+"/", rest)
	}
	at := func(name, version string) map[string]string {
		return map[string]string{"charts/" + name + "-" + version + "/Chart.yaml": metadataOf(name, version)}
	}
	lock := helmLock(t, metadataOf("web", "1.0.0", redis(`version: "^1"`)))
	for _, version := range []string{"1.0.0", "1.1.0", "2.0.0"} {
		server.AddChart(library("redis", version))
		server.PushChart("acme/redis", library("redis", version))
	}
	tests := []struct {
		name   string
		files  map[string]string
		folder string
		pin    map[string]string
		want   map[string]string
		found  map[string]string
	}{
		{
			name:  "newest that is allowed",
			files: map[string]string{"Chart.yaml": metadataOf("web", "1.0.0", redis(`version: "^1"`))},
			want:  at("redis", "1.1.0"), found: map[string]string{"redis": "1.1.0"},
		},
		{
			name:  "from a registry, whatever its condition",
			files: map[string]string{"Chart.yaml": metadataOf("web", "1.0.0", fmt.Sprintf("{name: redis, repository: %q, version: 1.x, condition: redis.enabled}", server.RegistryURL("acme")))},
			want:  at("redis", "1.1.0"), found: map[string]string{"redis": "1.1.0"},
		},
		{
			name:  "where Helm 2 wrote it",
			files: map[string]string{"Chart.yaml": "apiVersion: v1\nname: web\nversion: 1.0.0\n", "requirements.yaml": "dependencies: [" + redis(`version: "^1"`) + "]\n"},
			want:  at("redis", "1.1.0"), found: map[string]string{"redis": "1.1.0"},
		},
		{
			name:  "pinned",
			files: map[string]string{"Chart.yaml": metadataOf("web", "1.0.0", redis(`version: "^1"`))},
			pin:   map[string]string{"redis": "1.0.0"},
			want:  at("redis", "1.0.0"), found: map[string]string{"redis": "1.0.0"},
		},
		{
			name:  "pinned to what the chart no longer allows",
			files: map[string]string{"Chart.yaml": metadataOf("web", "1.0.0", redis(`version: "^2"`))},
			pin:   map[string]string{"redis": "1.0.0"},
			want:  at("redis", "2.0.0"), found: map[string]string{"redis": "2.0.0"},
		},
		{
			name:  "locked",
			files: map[string]string{"Chart.yaml": metadataOf("web", "1.0.0", redis(`version: "^1"`)), "Chart.lock": lock},
			pin:   map[string]string{"redis": "1.1.0"},
			want:  at("redis", "1.0.0"), found: map[string]string{"redis": "1.0.0"},
		},
		{
			name:  "locked for another version",
			files: map[string]string{"Chart.yaml": metadataOf("web", "1.0.0", redis(`version: ">=2"`)), "Chart.lock": lock},
			want:  at("redis", "2.0.0"), found: map[string]string{"redis": "2.0.0"},
		},
		{
			name:  "two of one name",
			files: map[string]string{"Chart.yaml": metadataOf("web", "1.0.0", redis(`version: "1.0.0", alias: old`), redis(`version: "^2", alias: new`), redis(`version: "^2", alias: third`))},
			want:  merged(at("redis", "1.0.0"), at("redis", "2.0.0")), found: map[string]string{"old": "1.0.0", "new": "2.0.0", "third": "2.0.0"},
		},
		{
			name: "in charts/ already",
			files: map[string]string{
				"Chart.yaml":              metadataOf("web", "1.0.0", redis(`version: "^1"`), `{name: local, version: "1"}`),
				"charts/cache/Chart.yaml": metadataOf("redis", "1.0.0"), "charts/local/Chart.yaml": metadataOf("local", "1.0.0"),
			},
		},
		{
			name:  "packed in charts/ already",
			files: map[string]string{"Chart.yaml": metadataOf("web", "1.0.0", redis(`version: "^1"`)), "charts/redis-1.0.0.tgz": string(library("redis", "1.0.0").Package())},
		},
		{
			name:  "a name that begins like it does not count",
			files: map[string]string{"Chart.yaml": metadataOf("web", "1.0.0", redis(`version: "^1"`)), "charts/redis-ha-1.0.0.tgz": string(library("redis-ha", "1.0.0").Package())},
			want:  at("redis", "1.1.0"), found: map[string]string{"redis": "1.1.0"},
		},
		{
			name: "beside the chart",
			files: map[string]string{
				"apps/web/Chart.yaml": metadataOf("web", "1.0.0", `{name: common, repository: "file://../../common", version: ">=1"}`),
				"common/Chart.yaml":   metadataOf("common", "1.5.0"), "common/values.yaml": "a: 1\n",
			},
			folder: "apps/web",
			want:   map[string]string{"apps/web/charts/common-1.5.0/Chart.yaml": metadataOf("common", "1.5.0"), "apps/web/charts/common-1.5.0/values.yaml": "a: 1\n"},
			found:  map[string]string{"common": "1.5.0"},
		},
	}
	fetcher := newFetcher(t, server)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			folder := tt.folder
			if folder == "" {
				folder = "."
			}
			added, pin, err := fetcher.Dependencies(t.Context(), filesOf(tt.files), folder, bundle.Pin{Dependencies: tt.pin})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, file := range added {
				got[file.Name] = string(file.Content)
			}
			if tt.want == nil {
				tt.want = map[string]string{}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.found, pin.Dependencies); diff != "" {
				t.Errorf("versions (-want +got):\n%s", diff)
			}
		})
	}
}

// helmLock is what "helm dependency update" writes for a chart.
func helmLock(t *testing.T, metadata string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "Chart.yaml"), []byte(metadata), 0o600); err != nil {
		t.Fatal(err)
	}
	manager := downloader.Manager{
		Out: io.Discard, ChartPath: dir, Getters: getter.All(cli.New()),
		RepositoryConfig: filepath.Join(t.TempDir(), "repositories.yaml"), RepositoryCache: t.TempDir(),
	}
	if err := manager.Update(); err != nil {
		t.Fatal(err)
	}
	lock, err := os.ReadFile(filepath.Join(dir, "Chart.lock"))
	if err != nil {
		t.Fatal(err)
	}
	return string(lock)
}

func merged(all ...map[string]string) map[string]string {
	sum := map[string]string{}
	for _, one := range all {
		maps.Copy(sum, one)
	}
	return sum
}

func TestDependenciesErrors(t *testing.T) {
	t.Parallel()
	server := charttest.New(t, locked())
	server.AddChart(library("redis", "1.0.0"))
	tests := []struct {
		name       string
		dependency string
		reason     chart.Reason
		text       string
	}{
		{"alias", `{name: redis, version: "1", repository: "@stable"}`, chart.Malformed, "set the URL of the repository"},
		{"another alias", `{name: redis, version: "1", repository: "alias:stable"}`, chart.Malformed, "set the URL of the repository"},
		{"nowhere", `{name: redis, version: "1"}`, chart.NotFound, "has no repository"},
		{"outside", `{name: redis, version: "1", repository: "file://../redis"}`, chart.NotFound, "nothing outside"},
		{"absolute", `{name: redis, version: "1", repository: "file:///redis"}`, chart.NotFound, "nothing outside"},
		{"itself", `{name: redis, version: "1", repository: "file://."}`, chart.Malformed, "contains the chart that depends on it"},
		{"beside, another version", `{name: common, version: "^2", repository: "file://common"}`, chart.NotFound, `no version "^2"; available: 1.0.0`},
		{"no such version", fmt.Sprintf("{name: redis, version: ^2, repository: %q}", server.RepositoryURL()), chart.NotFound, `no version "^2"; available: 1.0.0`},
		{"no such chart", fmt.Sprintf("{name: mongo, version: ^2, repository: %q}", server.RepositoryURL()), chart.NotFound, `no chart "mongo"`},
		{"no YAML", "{", chart.Malformed, "Chart.yaml"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			files := filesOf(map[string]string{
				"Chart.yaml":        metadataOf("web", "1.0.0", tt.dependency),
				"common/Chart.yaml": metadataOf("common", "1.0.0"), "redis/Chart.yaml": metadataOf("redis", "1.0.0"),
			})
			_, _, err := newFetcher(t, server).Dependencies(t.Context(), files, ".", bundle.Pin{})
			failed, ok := errors.AsType[*chart.FetchError](err)
			if !ok || failed.Reason != tt.reason || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("Dependencies: %v, want %q and %q in it", err, tt.reason, tt.text)
			}
		})
	}
}

// A chart that depends on itself must not be fetched forever.
func TestFetchWithDependencies(t *testing.T) {
	t.Parallel()
	server := charttest.New(t, locked())
	loop := fmt.Sprintf("{name: web, repository: %q, version: '>=1'}", server.RepositoryURL())
	redis := fmt.Sprintf("{name: redis, repository: %q, version: ^1}", server.RepositoryURL())
	server.AddChart(charttest.Chart{Name: "web", Version: "1.0.0", Files: map[string]string{
		"Chart.yaml":            metadataOf("web", "1.0.0", loop, redis),
		"charts/api/Chart.yaml": metadataOf("api", "1.0.0", redis),
	}})
	server.AddChart(library("redis", "1.0.0"))
	chart := bundle.Chart{Repo: server.RepositoryURL(), Name: "web"}
	files, pin, err := newFetcher(t, server).Fetch(t.Context(), chart, bundle.Pin{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"web": "1.0.0", "redis": "1.0.0", "charts/api/redis": "1.0.0"}
	if diff := cmp.Diff(want, pin.Dependencies); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	found := contents(t, files)
	for _, name := range []string{"charts/web-1.0.0/Chart.yaml", "charts/redis-1.0.0/Chart.yaml", "charts/api/charts/redis-1.0.0/Chart.yaml"} {
		if _, ok := found[name]; !ok {
			t.Errorf("there is no %s", name)
		}
	}

	server.AddChart(library("redis", "1.1.0"))
	again, samePin, err := newFetcher(t, server).Fetch(t.Context(), chart, pin)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(files, again) + cmp.Diff(pin, samePin); diff != "" {
		t.Errorf("pinned (-first +second):\n%s", diff)
	}
}

// helm.disableDependencyUpdate leaves a chart as it was packed.
func TestFetchAlone(t *testing.T) {
	t.Parallel()
	s := charttest.New(t, charttest.Options{})
	s.AddChart(charttest.Chart{Name: "redis", Version: "1.0.0"})
	s.AddChart(charttest.Chart{Name: "web", Version: "1.0.0", Files: map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies: [{name: redis, version: 1.x, repository: '" + s.RepositoryURL() + "'}]\n",
	}})
	f := newFetcher(t, s)
	chart := bundle.Chart{Repo: s.RepositoryURL(), Name: "web", Version: "1.0.0"}
	alone, pin, err := f.FetchAlone(t.Context(), chart, bundle.Pin{})
	if err != nil || len(alone) != 1 || pin.Dependencies != nil {
		t.Errorf("FetchAlone: %d files, pin %+v, %v", len(alone), pin, err)
	}
	if all, _, err := f.Fetch(t.Context(), chart, bundle.Pin{}); err != nil || len(all) != 2 {
		t.Errorf("Fetch: %d files, %v", len(all), err)
	}
}
