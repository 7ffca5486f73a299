package chart_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/chart"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/charttest"
)

func TestNewestAllowed(t *testing.T) {
	t.Parallel()
	versions := []string{"2.1.0-rc.1", "2.0.0", "1.10.0", "1.9.0+build.2", "v1.8.0"}
	tests := map[string]struct {
		constraint, want string
		wrong            string
	}{
		"none":               {want: "2.0.0"},
		"a range":            {constraint: "~1", want: "1.10.0"},
		"pre-releases":       {constraint: ">=2.0.0-0", want: "2.1.0-rc.1"},
		"an exact one":       {constraint: "1.9.0+build.2", want: "1.9.0+build.2"},
		"nothing in it":      {constraint: "~3"},
		"another word":       {constraint: "newest", wrong: `"newest" is neither a version nor a range of versions`},
		"with a leading v":   {constraint: "1.8.x", want: "v1.8.0"},
		"what is not stable": {constraint: "2.1.x"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := chart.NewestAllowed(versions, test.constraint)
			if got != test.want || (err != nil) != (test.wrong != "") || err != nil && err.Error() != test.wrong {
				t.Errorf("got %q, %v; want %q, %q", got, err, test.want, test.wrong)
			}
		})
	}
}

func TestVersions(t *testing.T) {
	t.Parallel()
	server := charttest.New(t, charttest.Options{})
	for _, version := range []string{"1.0.0", "1.10.0", "1.9.0", "2.0.0-rc.1"} {
		server.AddChart(charttest.Chart{Name: "web", Version: version})
		server.PushChart("acme/web", charttest.Chart{Name: "web", Version: version})
	}
	server.PushImage("acme/web", "latest")
	fetcher := newFetcherWith(t, chart.FetchConfig{Registries: map[string]chart.Registry{server.RegistryURL("acme"): {PlainHTTP: true}}})
	want := []string{"2.0.0-rc.1", "1.10.0", "1.9.0", "1.0.0"}
	for name, of := range map[string]bundle.Chart{
		"repository": {Repo: server.RepositoryURL(), Name: "web", Version: "~1"},
		"registry":   {Repo: server.RegistryURL("acme/web"), Version: "~1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := fetcher.Versions(t.Context(), of)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("versions (-want +got):\n%s", diff)
			}
			if newest, err := fetcher.Version(t.Context(), of); err != nil || newest != "1.10.0" {
				t.Errorf("the newest is %q, %v", newest, err)
			}
		})
	}
	for name, of := range map[string]bundle.Chart{
		"no such chart": {Repo: server.RepositoryURL(), Name: "none"},
		"an archive":    {Name: server.URL("/web.tgz")},
		"no such image": {Repo: server.RegistryURL("acme/none"), Version: "~1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, one := fetcher.Version(t.Context(), of)
			_, all := fetcher.Versions(t.Context(), of)
			for _, err := range []error{one, all} {
				if failed, ok := errors.AsType[*chart.FetchError](err); !ok || failed.Reason != chart.NotFound {
					t.Errorf("error %v, want one of %q", err, chart.NotFound)
				}
			}
		})
	}
}

// A registry that ignores the size of a page does not fill the memory.
func TestTooManyTags(t *testing.T) {
	t.Parallel()
	server := charttest.New(t, charttest.Options{})
	list := `{"name": "acme/many", "tags": ["0"` + strings.Repeat(`,"1"`, 100_000) + `]}`
	server.Redirect("/v2/acme/many/tags/list", server.AddFile("/many.json", []byte(list)))
	fetcher := newFetcherWith(t, chart.FetchConfig{Registries: map[string]chart.Registry{server.RegistryURL("acme"): {PlainHTTP: true}}})
	_, err := fetcher.Tags(t.Context(), server.RegistryURL("acme/many"))
	if failed, ok := errors.AsType[*chart.FetchError](err); !ok || failed.Reason != chart.TooLarge || !strings.Contains(err.Error(), "100000 tags") {
		t.Errorf("error %v, want one of %q", err, chart.TooLarge)
	}
}
