package chart_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/chart"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/charttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fetch"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/policy"
)

// What authors name reaches no server of the runner and nothing beside sources: neither directly nor by a
// redirect, an index or a dependency. The fetcher has fetched the same for the operator before.
func TestAuthorsReachSourcesAlone(t *testing.T) {
	t.Parallel()
	server := charttest.New(t, charttest.Options{})
	server.AddChart(web("1.0.0"))
	server.PushChart("acme/web", web("1.0.0"))
	blob := server.PushChart("acme/moved", web("1.1.0"))
	elsewhere := charttest.New(t, charttest.Options{})
	server.Redirect(blob, elsewhere.AddFile("/storage", web("1.1.0").Package()))
	archive := server.AddFile("/web.tgz", web("1.0.0").Package())
	moved := server.Redirect("/moved.tgz", elsewhere.AddFile("/web.tgz", web("1.0.0").Package()))
	dependent := filesOf(map[string]string{"Chart.yaml": metadataOf("app", "1.0.0", fmt.Sprintf("{name: web, version: 1.0.0, repository: %q}", server.RepositoryURL()))})
	charts := map[string]bundle.Chart{
		"repository": {Repo: server.RepositoryURL(), Name: "web"}, "registry": {Repo: server.RegistryURL("acme/web")}, "archive": {Name: archive},
		"redirect": {Name: moved}, "storage of a registry": {Repo: server.RegistryURL("acme/moved")}, "dependency": {}, "image": {},
	}
	for name, test := range map[string]struct {
		sources []string
		kinds   []string
		is      func(error) bool
	}{
		"any source": {nil, []string{"repository", "registry", "archive", "redirect", "dependency", "image"}, isConnectError},
		"no source":  {[]string{}, []string{"repository", "registry", "archive", "redirect", "dependency", "image"}, isRefusal},
		"other sources": {
			[]string{server.RepositoryURL() + "/db", "oci://ghcr.io/**", server.URL("/web.tgz.evil")},
			[]string{"repository", "registry", "archive", "redirect", "dependency", "image"},
			isRefusal,
		},
		"these sources": {
			[]string{server.RepositoryURL() + "/web", server.RegistryURL("acme/") + "*", archive},
			[]string{"repository", "registry", "archive", "dependency", "image"},
			func(err error) bool { return err == nil },
		},
		"where they refer to":  {[]string{moved, server.RegistryURL("acme/") + "*"}, []string{"redirect", "storage of a registry"}, isConnectError},
		"sources of all hosts": {[]string{"**"}, []string{"repository", "registry", "archive", "redirect", "dependency", "image"}, isConnectError},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reach := fetch.Reach{}
			if test.sources != nil {
				patterns, err := policy.NewSources(test.sources)
				if err != nil {
					t.Fatal(err)
				}
				reach.Sources = patterns
			}
			ctx := fetch.WithReach(t.Context(), reach)
			fetcher, err := chart.NewFetcher(chart.FetchConfig{Registries: map[string]chart.Registry{server.RegistryURL(""): {PlainHTTP: true}}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := fetcher.Close(); err != nil {
					t.Error(err)
				}
			})
			for _, kind := range test.kinds {
				var err error
				of := charts[kind]
				switch kind {
				case "dependency":
					_, _, err = fetcher.Dependencies(ctx, dependent, ".", bundle.Pin{})
				case "image":
					_, err = fetcher.Tags(ctx, server.RegistryURL("acme/web"))
				case "redirect", "storage of a registry":
					_, _, err = fetcher.Fetch(ctx, of, bundle.Pin{})
				default:
					if _, _, err := fetcher.Fetch(t.Context(), of, bundle.Pin{}); err != nil {
						t.Errorf("%s of the operator: %v", kind, err)
					}
					_, _, err = fetcher.Fetch(ctx, of, bundle.Pin{})
				}
				if !test.is(err) {
					t.Errorf("%s: %v", kind, err)
				}
			}
		})
	}
}

func isConnectError(err error) bool {
	_, ok := errors.AsType[*fetch.ConnectError](err)
	return ok && strings.Contains(err.Error(), "sources")
}

func isRefusal(err error) bool {
	_, ok := errors.AsType[*fetch.RefusedError](err)
	return ok
}
