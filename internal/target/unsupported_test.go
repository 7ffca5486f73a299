package target_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// What a cluster does not ask for does not keep the bundle from it.
func TestSupported(t *testing.T) {
	t.Parallel()

	const toDev = "targets:\n- clusterSelector: {matchLabels: {env: dev}}\n  "
	tests := map[string]struct {
		text      string
		prod, dev []string
	}{
		"nothing":                       {text: "helm: {values: {a: 1}}\n"},
		"asked for with nothing":        {text: "correctDrift: {enabled: false}\ndiff: {}\nignore: {conditions: []}\nkeepResources: false\ndependsOn: []\nnamespaceLabels: {}\n"},
		"by the bundle":                 {text: "dependsOn: [{name: b}]\nrolloutStrategy: {maxUnavailable: 1}\n", prod: []string{"dependsOn", "rolloutStrategy"}, dev: []string{"dependsOn", "rolloutStrategy"}},
		"by one customization":          {text: toDev + "keepResources: true\n  serviceAccount: robot\n", dev: []string{"keepResources", "serviceAccount"}},
		"by another cluster's":          {text: toDev + "deleteNamespace: true\n", dev: []string{"deleteNamespace"}},
		"by the root, for all clusters": {text: "namespaceLabels: {a: b}\n" + toDev + "namespace: a\n", prod: []string{"namespaceLabels"}, dev: []string{"namespaceLabels"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			def, _, err := fleetyaml.Parse("f", []byte(test.text), true)
			if err != nil {
				t.Fatal(err)
			}
			everywhere := target.Rule{ClusterSelector: &fleetyaml.Selector{}}
			dev, prod := target.NewCluster("dev"), target.NewCluster("prod")
			dev.Labels, prod.Labels = map[string]string{"env": "dev"}, map[string]string{"env": "prod"}
			result, err := target.Deployments(target.Input{
				Bundles: []*bundle.Bundle{{Name: "a", Definition: def}}, Rules: []target.Rule{everywhere}, Clusters: []target.Cluster{dev, prod},
			})
			if err != nil || len(result.Deployments) != 2 {
				t.Fatalf("%+v, %v", result, err)
			}
			for _, d := range result.Deployments {
				want := map[string][]string{"dev": test.dev, "prod": test.prod}[d.Cluster]
				var got []string
				if unsupported, ok := errors.AsType[*target.UnsupportedError](d.Supported()); ok {
					got = unsupported.Options
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s: Supported() (-want +got):\n%s", d.Cluster, diff)
				}
			}
		})
	}
}
