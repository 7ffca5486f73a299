package source_test

import (
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/chart"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/charttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/source"
)

// HelmRepoURLRegex limits which charts are fetched with credentials. As in Fleet, it must match at
// the beginning of the address. Unlike in Fleet, credentials are used for all addresses if it is
// not set.
func TestCredentialsWhereTheExpressionMatches(t *testing.T) {
	t.Parallel()

	server := charttest.New(t, charttest.Options{Username: "ci", Password: "s3cret-word"})
	server.AddChart(charttest.Chart{Name: "web", Version: "1.0.0", Files: map[string]string{"templates/a.yaml": "a: b\n"}})
	fetcher := func(username, password string) *chart.Fetcher {
		made, err := chart.NewFetcher(chart.FetchConfig{Boundary: naming(t, server.URL("")), Registries: map[string]chart.Registry{
			server.URL(""): {Username: username, Password: secret.Hide(password)},
		}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := made.Close(); err != nil {
				t.Error(err)
			}
		})
		return made
	}
	files := map[string]string{"web/fleet.yaml": "helm: {chart: web, version: 1.0.0, repo: '" + server.RepositoryURL() + "'}\n"}
	tests := map[string]struct {
		expression string
		refused    bool
	}{
		"none":                    {},
		"the beginning":           {expression: "http://127"},
		"another host":            {expression: "http://charts.example.com", refused: true},
		"not from the beginning":  {expression: "127", refused: true},
		"one of two alternatives": {expression: "https://a|http://127"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			store := source.New(source.Config{Charts: fetcher("ci", "s3cret-word"), PublicCharts: fetcher("", "")})
			_, err := store.Generate(t.Context(), source.Spec{
				Files: files, HelmRepoURLRegex: test.expression, Read: &bundle.ReadOptions{RepoName: "fleet", Paths: []string{"web"}},
			}, nil)
			if refused := err != nil && strings.Contains(err.Error(), "credentials"); refused != test.refused || err != nil && !refused {
				t.Errorf("Generate() error = %v, want one about credentials: %t", err, test.refused)
			}
		})
	}
}
