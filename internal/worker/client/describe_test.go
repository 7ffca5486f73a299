package client

import (
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

func TestDescribe(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ chart, want string }{
		"none":                     {"", "bundle b"},
		"of a repository":          {"web", "bundle b (chart web)"},
		"of a folder":              {"charts/web", "bundle b (chart web)"},
		"of a registry":            {"oci://example.com/charts/web", "bundle b (chart web)"},
		"of a registry and a port": {"oci://example.com:5000", "bundle b"},
		"with a password":          {"https://me:hunter2@example.com", "bundle b"},
		"with a token":             {"https://example.com/web.tgz?token=hunter2", "bundle b"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := target.Deployment{Bundle: &bundle.Bundle{Name: "b"}, Options: fleetyaml.Options{Helm: &fleetyaml.Helm{Chart: test.chart}}}
			if got := describe(d); got != test.want {
				t.Errorf("describe() = %q, want %q", got, test.want)
			}
		})
	}
}
