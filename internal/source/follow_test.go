package source_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/chart"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/charttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/source"
)

// newVersionStore returns an empty store, as in another process. It reads the version of a chart from
// its content.
func newVersionStore(t *testing.T) *source.Store {
	t.Helper()
	fetcher, err := chart.NewFetcher(chart.FetchConfig{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := fetcher.Close(); err != nil {
			t.Error(err)
		}
	})
	return source.New(source.Config{Charts: fetcher, PublicCharts: fetcher, Describe: func(b *bundle.Bundle) (name, version string, err error) {
		for _, file := range b.Files {
			if content, ok := strings.CutPrefix(string(file.Content), "a: "); ok {
				version = strings.TrimSpace(content)
			}
		}
		return "web", version, nil
	}})
}

func versioned(version string) charttest.Chart {
	return charttest.Chart{Name: "web", Version: version, Files: map[string]string{"templates/a.yaml": "a: " + version + "\n"}}
}

func requestFor(of bundle.Chart) source.Request {
	return source.Request{Spec: source.Spec{Files: map[string]string{}, Definition: &source.Definition{
		Name: "web", Options: fleetyaml.Definition{Options: fleetyaml.Options{Helm: &fleetyaml.Helm{Repo: of.Repo, Chart: of.Name, Version: of.Version}}},
	}}}
}

// If Terraform keeps what a plan has found, the plan is complete. The plan before the apply finds the
// same chart, although there is a newer one by then, and although versions are to be found again.
func TestPlanThatIsKept(t *testing.T) {
	t.Parallel()
	server := charttest.New(t, charttest.Options{})
	server.AddChart(versioned("1.0.0"))
	request := requestFor(bundle.Chart{Repo: server.RepositoryURL(), Name: "web", Version: "1.x"})
	request.Kept, request.Refresh = true, true
	first, err := newVersionStore(t).Plan(t.Context(), request, "")
	if web := first.Elements["web"]; err != nil || web.Version != "1.0.0" || web.Descriptor == "" {
		t.Fatalf("the first plan has %+v, %v", web, err)
	}
	raw, err := first.Found.Encode()
	if err != nil {
		t.Fatal(err)
	}
	server.AddChart(versioned("1.1.0"))
	if request.Found, err = source.DecodePins(raw); err != nil {
		t.Fatal(err)
	}
	second, err := newVersionStore(t).Plan(t.Context(), request, "")
	if diff := cmp.Diff(first.Elements, second.Elements); err != nil || diff != "" {
		t.Errorf("the second plan, %v (-first +second):\n%s", err, diff)
	}
	request.Found = nil
	if other, err := newVersionStore(t).Plan(t.Context(), request, ""); err != nil || other.Elements["web"].Version != "1.1.0" {
		t.Errorf("another plan has %+v, %v", other.Elements["web"], err)
	}
	if _, err := source.DecodePins([]byte("{")); err == nil {
		t.Error("damaged pins are read")
	}
}

// A plan uses the followed version if it is newer than the deployed version, and only for the chart
// that it belongs to.
func TestFollowedChart(t *testing.T) {
	t.Parallel()
	server, store := charttest.New(t, charttest.Options{}), newVersionStore(t)
	for _, version := range []string{"1.0.0", "1.1.0", "1.2.0"} {
		server.AddChart(versioned(version))
	}
	of := bundle.Chart{Repo: server.RepositoryURL(), Name: "web", Version: "1.1.x"}
	request := requestFor(of)
	settled, err := store.ResolveUnknown(t.Context(), request, nil, true, "")
	if version := settled.Elements["web"].Version; err != nil || version != "1.1.0" {
		t.Fatalf("version %q, %v", version, err)
	}
	request.Known = settled.Elements
	tests := map[string]struct {
		followed source.FollowedCharts
		want     string
	}{
		"none":             {want: "1.1.0"},
		"newer":            {followed: source.FollowedCharts{{Chart: of, Version: "1.2.0"}}, want: "1.2.0"},
		"the same":         {followed: source.FollowedCharts{{Chart: of, Version: "1.1.0"}}, want: "1.1.0"},
		"older":            {followed: source.FollowedCharts{{Chart: of, Version: "1.0.0"}}, want: "1.1.0"},
		"of another chart": {followed: source.FollowedCharts{{Chart: bundle.Chart{Repo: of.Repo, Name: "db"}, Version: "1.2.0"}}, want: "1.1.0"},
		"no version":       {followed: source.FollowedCharts{{Chart: of, Version: "main"}}, want: "1.1.0"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw, err := test.followed.Encode()
			if err != nil {
				t.Fatal(err)
			}
			stored, err := source.DecodeFollowed(raw)
			if diff := cmp.Diff(test.followed, stored); diff != "" || err != nil {
				t.Errorf("stored (-want +got), %v:\n%s", err, diff)
			}
			moved := request
			moved.Followed = stored
			planned, err := store.Plan(t.Context(), moved, "")
			if web := planned.Elements["web"]; err != nil || web.Version != test.want || web.Descriptor == "" {
				t.Errorf("%v, %v; want version %q", web, err, test.want)
			}
		})
	}
	if _, err := source.DecodeFollowed([]byte("{")); err == nil {
		t.Error("a damaged version is read")
	}
}

// Only charts that allow more than one version are followed, each once.
func TestChartsToFollow(t *testing.T) {
	t.Parallel()
	repo := "https://charts.example.com"
	pinned := func(charts ...bundle.Chart) source.Element {
		descriptor := source.Descriptor{Bundle: "web", Spec: source.Spec{Files: map[string]string{}, Definition: &source.Definition{Name: "web"}}}
		for _, chart := range charts {
			descriptor.Charts = append(descriptor.Charts, source.Pinned{Chart: chart, Pin: bundle.Pin{Version: "1.0.0"}})
		}
		text, err := descriptor.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return source.Element{Descriptor: text}
	}
	web, db := bundle.Chart{Repo: repo, Name: "web", Version: "~1"}, bundle.Chart{Repo: "oci://example.com/db"}
	got, err := source.ChartsToFollow(map[string]source.Element{
		"one":     pinned(web, bundle.Chart{Repo: repo, Name: "exact", Version: "1.0.0"}),
		"two":     pinned(db, web, bundle.Chart{Repo: repo, Name: "exact", Version: "v1.0.0"}),
		"three":   pinned(bundle.Chart{Name: "https://example.com/web-1.0.0.tgz"}, bundle.Chart{Name: "git::https://example.com/charts//web"}),
		"unknown": {},
	})
	if diff := cmp.Diff([]bundle.Chart{web, db}, got); diff != "" || err != nil {
		t.Errorf("error %v, charts (-want +got):\n%s", err, diff)
	}
	if _, err := source.ChartsToFollow(map[string]source.Element{"web": {Descriptor: "{"}}); err == nil {
		t.Error("a damaged descriptor is read")
	}
}
