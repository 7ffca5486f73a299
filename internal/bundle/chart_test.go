package bundle_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// readOne reads the only bundle of a tree.
func readOne(t *testing.T, text string) bundle.Bundle {
	t.Helper()
	result, err := read(t, text)
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Bundles) != 1 {
		t.Fatalf("%d bundles", len(result.Bundles))
	}
	return result.Bundles[0]
}

func TestWanted(t *testing.T) {
	t.Parallel()
	stable := func(name, version string) bundle.Chart {
		return bundle.Chart{Repo: "https://charts.example.com", Name: name, Version: version}
	}
	tests := []struct {
		name, text string
		want       []bundle.Chart
	}{
		{"nothing but a fleet.yaml", "-- fleet.yaml --\nhelm: {repo: 'https://charts.example.com', chart: web, version: 1.x}\n", []bundle.Chart{stable("web", "1.x")}},
		{"a folder of that name does not count beside a repo", "-- fleet.yaml --\nhelm: {repo: 'https://charts.example.com', chart: web}\n-- web/Chart.yaml --\n", []bundle.Chart{stable("web", "")}},
		{"a folder that looks like an address", "-- fleet.yaml --\nhelm: {chart: github.com/acme/web}\n-- github.com/acme/web/Chart.yaml --\nname: web\n", nil},
		{"customizations take from the root what they leave open", "-- fleet.yaml --\nhelm: {repo: 'https://charts.example.com', chart: web, version: 1.0.0}\ntargets:\n- helm: {version: 2.0.0}\n- helm: {values: {a: 1}}\n- namespace: a\n", []bundle.Chart{stable("web", "1.0.0"), stable("web", "2.0.0")}},
		{"a chart of its own", "-- fleet.yaml --\n-- Chart.yaml --\nname: web\n", nil},
		{"a packed chart", "-- fleet.yaml --\nhelm: {chart: web-1.0.0.tgz}\n-- web-1.0.0.tgz --\n", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := readOne(t, tt.text)
			if diff := cmp.Diff(tt.want, b.Wanted()); diff != "" {
				t.Errorf("Wanted (-want +got):\n%s", diff)
			}
			if whole := b.Digest != "" && b.Content != ""; whole == (len(tt.want) > 0) {
				t.Errorf("digests %q, %q", b.Digest, b.Content)
			}
		})
	}
}

func TestUnmet(t *testing.T) {
	t.Parallel()
	const chart = "-- app/Chart.yaml --\nname: app\ndependencies: [{name: redis, version: 1.x, repository: 'https://charts.example.com'}]\n"
	tests := []struct {
		name, text string
		want       []string
	}{
		{"lacking", "-- fleet.yaml --\nhelm: {chart: app}\n" + chart, []string{"app"}},
		{"switched off", "-- fleet.yaml --\nhelm: {chart: app, disableDependencyUpdate: true}\n" + chart, nil},
		{"a folder", "-- fleet.yaml --\nhelm: {chart: app}\n" + chart + "-- app/charts/redis/Chart.yaml --\nname: redis\n", nil},
		{"an archive", "-- fleet.yaml --\nhelm: {chart: app}\n" + chart + "-- app/charts/redis-1.2.3.tgz --\n", nil},
		{"a subchart lacks one", "-- fleet.yaml --\n-- Chart.yaml --\nname: a\n-- charts/b/Chart.yaml --\nname: b\n-- charts/b/requirements.yaml --\ndependencies: [{name: c}]\n", []string{"charts/b"}},
		{"an archive of another", "-- fleet.yaml --\nhelm: {chart: app}\n" + chart + "-- app/charts/redis-cluster-1.2.3.tgz --\n", []string{"app"}},
		{"a folder with another name", "-- fleet.yaml --\nhelm: {chart: app}\n" + chart + "-- app/charts/r/Chart.yaml --\nname: redis\n", nil},
		{"a folder with another chart", "-- fleet.yaml --\nhelm: {chart: app}\n" + chart + "-- app/charts/redis/Chart.yaml --\nname: other\n", []string{"app"}},
		{"of a subchart's subchart", "-- Chart.yaml --\nname: a\n-- charts/b/Chart.yaml --\nname: b\n-- charts/b/charts/c/Chart.yaml --\ndependencies: [{name: d}]\n", []string{"charts/b/charts/c"}},
		{"a chart beside the subcharts", "-- Chart.yaml --\nname: a\n-- files/b/Chart.yaml --\ndependencies: [{name: d}]\n", nil},
		{"charts of two targets", "-- fleet.yaml --\ntargets: [{helm: {chart: app}}, {helm: {chart: b}}]\n" + chart + "-- b/Chart.yaml --\ndependencies: [{name: d}]\n", []string{"app", "b"}},
		{"a chart that is not deployed", "-- fleet.yaml --\n-- a.yaml --\n" + chart, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, readOne(t, tt.text).Unmet()); diff != "" {
				t.Errorf("Unmet (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAdd(t *testing.T) {
	t.Parallel()
	b := readOne(t, "-- fleet.yaml --\nhelm: {repo: 'https://charts.example.com', chart: web}\n-- values.yaml --\na: 1\n")
	dir := b.Wanted()[0].Directory()
	if _, err := b.Add([]bundle.File{{Name: dir + "/README.md"}}); !is[*bundle.ChartError](err) {
		t.Errorf("Add: %v, want a ChartError", err)
	}
	whole, err := b.Add([]bundle.File{{Name: dir + "/Chart.yaml", Content: []byte("name: web\n")}, {Name: "values.yaml", Content: []byte("a: 2\n")}})
	if err != nil {
		t.Fatal(err)
	}
	want := []bundle.File{{Name: dir + "/Chart.yaml", Content: []byte("name: web\n")}, {Name: "values.yaml", Content: []byte("a: 2\n")}}
	if diff := cmp.Diff(want, whole.Files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if whole.Digest == "" || whole.Content == "" || len(whole.Wanted()) > 0 {
		t.Errorf("not whole: %+v", whole)
	}
	twice, err := b.Add([]bundle.File{{Name: dir + "/Chart.yaml", Content: []byte("name: old\n")}, {Name: dir + "/Chart.yaml", Content: []byte("name: web\n")}, {Name: "values.yaml", Content: []byte("a: 2\n")}})
	if err != nil || twice.Digest != whole.Digest {
		t.Errorf("of two files with one name the first counts, or none: %v, %+v", err, twice.Files)
	}
	for _, name := range []string{"../x", "/etc/x", "a//b", ""} {
		if _, err := b.Add([]bundle.File{{Name: name}}); err == nil {
			t.Errorf("Add takes a file %q", name)
		}
	}
	if len(b.Files) != 1 || b.Digest != "" {
		t.Error("the bundle itself was changed")
	}
	if found, ok := whole.ChartDirectory(whole.Definition.Helm); !ok || found != dir {
		t.Errorf("ChartDirectory = %s, %t", found, ok)
	}
}

// A chart for one cluster only must not change the content digest for the others.
func TestContentOf(t *testing.T) {
	t.Parallel()
	b := readOne(t, "-- fleet.yaml --\nhelm: {repo: 'https://charts.example.com', chart: web, version: 1.0.0}\ntargets: [{helm: {version: 2.0.0}}]\n-- a.yaml --\n")
	content := func(second string) (string, string) {
		var files []bundle.File
		for i, chart := range b.Wanted() {
			files = append(files, bundle.File{Name: chart.Directory() + "/Chart.yaml", Content: []byte([]string{"name: one", "name: " + second}[i])})
		}
		whole, err := b.Add(files)
		if err != nil {
			t.Fatal(err)
		}
		custom := *b.Definition.Helm
		custom.Version = "2.0.0"
		return whole.ContentOf(b.Definition.Helm), whole.ContentOf(&custom)
	}
	first, second := content("two")
	same, other := content("three")
	if first != same || second == other || first == second {
		t.Errorf("contents %s, %s, then %s, %s", first, second, same, other)
	}
}

func TestChartDirectory(t *testing.T) {
	t.Parallel()
	const repo = "https://charts.example.com"
	at := func(name string) string { return bundle.Chart{Name: name, Repo: repo}.Directory() }
	b, err := bundle.Bundle{}.Add([]bundle.File{
		{Name: "app/Chart.yaml"},
		{Name: "db-1.0.0.tgz"},
		{Name: at("whole") + "/Chart.yaml"},
		{Name: at("whole") + "/crds/Chart.yaml"},
		{Name: at("below") + "/web/Chart.yaml"},
		{Name: at("below") + "/web/charts/db/Chart.yaml"},
		{Name: at("two") + "/a/Chart.yaml"},
		{Name: at("two") + "/b/Chart.yaml"},
	})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name    string
		options *fleetyaml.Helm
		dir     string
		found   bool
	}{
		{"none", nil, ".", false},
		{"folder", &fleetyaml.Helm{Chart: "app/"}, "app", true},
		{"packed", &fleetyaml.Helm{Chart: "./db-1.0.0.tgz"}, "db-1.0.0.tgz", true},
		{"not fetched", &fleetyaml.Helm{Chart: "app", Repo: repo}, at("app"), false},
		{"fetched", &fleetyaml.Helm{Chart: "whole", Repo: repo}, at("whole"), true},
		{"fetched, in a folder", &fleetyaml.Helm{Chart: "below", Repo: repo}, at("below") + "/web", true},
		{"fetched, one of two", &fleetyaml.Helm{Chart: "two", Repo: repo}, at("two"), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if dir, found := b.ChartDirectory(tt.options); dir != tt.dir || found != tt.found {
				t.Errorf("ChartDirectory = %s, %t, want %s, %t", dir, found, tt.dir, tt.found)
			}
		})
	}
}

func TestReadBundlePaths(t *testing.T) {
	t.Parallel()
	const text = "-- a/fleet.yaml --\nlabels: {from: fleet}\n-- a/dev.yaml --\nlabels: {from: dev}\nhelm: {valuesFiles: [v.yaml]}\n-- a/v.yaml --\nx: 1\n-- a/env/prod.yml --\nname: prod\n-- a/sub/fleet.yaml --\n-- a/sub/x.yaml --\n"
	fsys := tree(t, text)
	result, err := bundle.Reader{}.Read(fsys, bundle.ReadOptions{RepoName: "test", Strict: true, BundlePaths: []bundle.Base{
		{Base: "/a"}, {Base: "a", Options: "dev.yaml"}, {Base: "a/", Options: "env/prod.yml"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{
		"test-a":     {"dev.yaml", "env/prod.yml", "sub/fleet.yaml", "sub/x.yaml", "v.yaml"},
		"test-a-dev": {"env/prod.yml", "sub/fleet.yaml", "sub/x.yaml"},
		"prod":       {"dev.yaml", "sub/fleet.yaml", "sub/x.yaml", "v.yaml"},
	}
	if diff := cmp.Diff(want, contents(result.Bundles)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	for _, tt := range []struct {
		name string
		base bundle.Base
		is   func(error) bool
	}{
		{"no such folder", bundle.Base{Base: "b"}, is[*bundle.NoMatchError]},
		{"a file", bundle.Base{Base: "a/v.yaml"}, is[*bundle.NoMatchError]},
		{"no such options", bundle.Base{Base: "a", Options: "nowhere.yaml"}, is[*bundle.OptionsFileError]},
		{"options outside", bundle.Base{Base: "a/sub", Options: "../dev.yaml"}, is[*bundle.OptionsFileError]},
		{"options of no folder", bundle.Base{Base: "a", Options: "/etc/passwd"}, is[*bundle.OptionsFileError]},
	} {
		if _, err := (bundle.Reader{}).Read(fsys, bundle.ReadOptions{BundlePaths: []bundle.Base{tt.base}}); !tt.is(err) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
