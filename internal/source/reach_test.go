package source_test

import (
	"errors"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/chart"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/charttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fetch"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/git"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/source"
)

// naming lets sources name servers of the test.
func naming(t *testing.T, addresses ...string) fetch.Boundary {
	t.Helper()
	var boundary fetch.Boundary
	for _, address := range addresses {
		at, err := chart.ScopeOf(address)
		if err != nil {
			t.Fatal(err)
		}
		boundary.Named = append(boundary.Named, at)
	}
	return boundary
}

// The author of a repository has the runner fetch another repository, which the author cannot read. A chart
// of the configuration is fetched with credentials.
func TestChartsBorrowNoCredentials(t *testing.T) {
	t.Parallel()
	server := gittest.New(t, gittest.Options{Username: "robot", Password: "open sesame"})
	if _, err := server.Commit(t.Context(), "secret", "main", "secret", map[string]string{"Chart.yaml": "apiVersion: v2\nname: secret\nversion: 1.0.0\n"}); err != nil {
		t.Fatal(err)
	}
	stolen := "git::" + server.URL("secret")
	head := commit(t, server, map[string]string{"apps/web/fleet.yaml": "helm: {chart: '" + stolen + "'}\n"})
	charts, err := chart.NewFetcher(chart.FetchConfig{})
	if err != nil {
		t.Fatal(err)
	}
	client := git.New(git.Config{
		TempDir: t.TempDir(), Boundary: naming(t, server.URL("")),
		Credentials: map[string]git.Credentials{server.URL(""): {Username: "robot", Password: secret.Hide("open sesame")}},
	})
	t.Cleanup(func() {
		if err := errors.Join(client.Close(), charts.Close()); err != nil {
			t.Error(err)
		}
	})
	repository := source.Spec{Git: &source.PinnedCommit{Repo: server.URL("fleet"), Commit: head}, Read: readApps()}
	configured := source.Spec{Files: map[string]string{}, Definition: &source.Definition{
		Name: "web", Options: fleetyaml.Definition{Options: fleetyaml.Options{Helm: &fleetyaml.Helm{Chart: stolen}}},
	}}
	for name, test := range map[string]struct {
		spec    source.Spec
		sources []string
		is      func(error) bool
	}{
		"by default":                       {repository, nil, isType[*git.AuthenticationError]},
		"no source":                        {repository, []string{}, isType[*fetch.RefusedError]},
		"the source":                       {repository, []string{server.URL("secret")}, nil},
		"of the configuration":             {configured, nil, nil},
		"of the configuration, no sources": {configured, []string{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.spec.Sources = test.sources
			_, err := source.New(source.Config{Git: client, Charts: charts, PublicCharts: charts}).Generate(t.Context(), test.spec, nil)
			if test.is == nil && err != nil || test.is != nil && !test.is(err) {
				t.Errorf("Generate: %v", err)
			}
		})
	}
}

// All kinds of addresses that a source names are compared with sources before any request.
func TestSourcesBeforeAnyRequest(t *testing.T) {
	t.Parallel()
	server := charttest.New(t, charttest.Options{})
	fetcher, err := chart.NewFetcher(chart.FetchConfig{Boundary: naming(t, server.URL(""), server.RegistryURL("")), Registries: map[string]chart.Registry{server.RegistryURL(""): {PlainHTTP: true}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := fetcher.Close(); err != nil {
			t.Error(err)
		}
		if count := server.Requests("/"); count > 0 {
			t.Errorf("the server got %d requests", count)
		}
	})
	store := source.New(source.Config{Charts: fetcher, PublicCharts: fetcher, Images: fetcher, PublicImages: fetcher})
	const expression = "http://nowhere.example.com"
	for name, spec := range map[string]source.Spec{
		"repository":               {Files: map[string]string{"web/fleet.yaml": "helm: {chart: web, repo: '" + server.RepositoryURL() + "'}\n"}},
		"registry":                 {Files: map[string]string{"web/fleet.yaml": "helm: {repo: '" + server.RegistryURL("web") + "'}\n"}},
		"archive":                  {Files: map[string]string{"web/fleet.yaml": "helm: {chart: '" + server.URL("/web.tgz") + "'}\n"}},
		"archive, no credentials":  {Files: map[string]string{"web/fleet.yaml": "helm: {chart: '" + server.URL("/web.tgz") + "'}\n"}, HelmRepoURLRegex: expression},
		"dependency":               {Files: map[string]string{"web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies: [{name: db, version: 1.0.0, repository: '" + server.RepositoryURL() + "'}]\n"}},
		"dependency in a registry": {Files: map[string]string{"web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies: [{name: db, version: 1.0.0, repository: '" + server.RegistryURL("acme") + "'}]\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec.Read = &bundle.ReadOptions{RepoName: "fleet", Paths: []string{"web"}}
			spec.Sources = []string{"https://charts.example.com/**"}
			if _, err := store.Generate(t.Context(), spec, nil); !isType[*fetch.RefusedError](err) {
				t.Errorf("Generate: %v, want a refusal", err)
			}
		})
	}
	t.Run("image", func(t *testing.T) {
		t.Parallel()
		scans := []source.ScannedImage{{Scan: source.ImageScan{TagName: "web", Image: imageOf(server, "acme/web")}}}
		_, failed := store.RefreshImages(t.Context(), source.Spec{Sources: []string{}}, scans)
		if !isType[*fetch.RefusedError](errors.Join(failed...)) {
			t.Errorf("RefreshImages: %v, want a refusal", failed)
		}
	})
	t.Run("newer versions", func(t *testing.T) {
		t.Parallel()
		charts := []bundle.Chart{{Repo: server.RepositoryURL(), Name: "web"}}
		_, failed := store.FollowCharts(t.Context(), source.Spec{Sources: []string{}}, charts, nil)
		if !isType[*fetch.RefusedError](errors.Join(failed...)) {
			t.Errorf("FollowCharts: %v, want a refusal", failed)
		}
	})
}
