package target_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker/templates"
)

func TestNamespaceIsTemplated(t *testing.T) {
	t.Parallel()

	type words = map[string]string
	prod := cluster("a", "env=prod")
	prod.TemplateValues = map[string]any{"team": "web"}
	tests := map[string]struct {
		text                string
		cluster             target.Cluster
		labels, annotations words
		values              map[string]any
		// failure is the beginning of the error, "" for none.
		failure string
	}{
		"no template": {text: "namespaceLabels: {env: dev}", labels: words{"env": "dev"}},
		"a field": {
			text:   "namespaceLabels: {env: '${ .ClusterLabels.env }', other: x}\nnamespaceAnnotations: {at: 'cluster ${ .ClusterName }'}",
			labels: words{"env": "prod", "other": "x"}, annotations: words{"at": "cluster a"},
		},
		"a function": {text: "namespaceLabels: {team: '${ .ClusterValues.team | upper }'}", labels: words{"team": "WEB"}},
		"beside values": {
			text:   "namespaceLabels: {env: '${ .ClusterLabels.env | upper }'}\nhelm: {values: {a: '${ .ClusterName }'}, templateValues: {b: '${ .ClusterName }', c: 'x'}}",
			labels: words{"env": "PROD"}, values: map[string]any{"a": "a", "b": "a", "c": "x"},
		},
		"beside a label reference": {
			text:   "namespaceLabels: {env: '${ .ClusterLabels.env }'}\nhelm: {values: {a: global.fleet.clusterLabels.env}}",
			labels: words{"env": "prod"}, values: map[string]any{"a": "prod"},
		},
		"of a customization": {
			text:   "namespaceLabels: {env: dev}\ntargetCustomizations: [{clusterName: a, namespaceLabels: {env: '${ .ClusterLabels.env }'}}]",
			labels: words{"env": "prod"},
		},
		"a key stays":         {text: "namespaceAnnotations: {'${ .ClusterName }': x}", annotations: words{"${ .ClusterName }": "x"}},
		"no label reference":  {text: "namespaceLabels: {env: global.fleet.clusterLabels.env}", labels: words{"env": "global.fleet.clusterLabels.env"}},
		"switched off":        {text: "namespaceLabels: {env: '${ .ClusterLabels.env }'}\nhelm: {disablePreProcess: true}", labels: words{"env": "${ .ClusterLabels.env }"}},
		"no labels":           {text: "namespaceLabels: {env: '${ .ClusterName }'}", cluster: cluster("a"), labels: words{"env": "${ .ClusterName }"}},
		"a missing label":     {text: "namespaceLabels: {x: '${ .ClusterLabels.none }'}", failure: "templating namespaceLabels.x: "},
		"a missing value":     {text: "namespaceAnnotations: {x: '${ .ClusterValues.none }'}", failure: "templating namespaceAnnotations.x: "},
		"a value comes first": {text: "namespaceLabels: {x: '${ .ClusterLabels.none }'}\nhelm: {values: {a: '${ .ClusterLabels.none }'}}", failure: "templating helm.values.a: "},
		"not a template":      {text: "namespaceLabels: {x: '${ .ClusterName'}", failure: "templating namespaceLabels.x: "},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			at := test.cluster
			if at.Name == "" {
				at = prod
			}
			result, err := target.Deployments(t.Context(), target.Input{
				Bundles: []*bundle.Bundle{parsed(t, "web", test.text)}, Rules: everywhere(), Clusters: []target.Cluster{at}, Evaluator: templates.InProcess{},
			})
			if err != nil {
				t.Fatal(err)
			}
			if test.failure != "" {
				if len(result.Failures) != 1 || !strings.HasPrefix(result.Failures[0].Err.Error(), test.failure) {
					t.Errorf("got %+v, want a failure %q", result, test.failure)
				}
				return
			}
			if len(result.Deployments) != 1 {
				t.Fatalf("got %+v", result)
			}
			got := result.Deployments[0]
			if difference := cmp.Diff(fleetyaml.Options{NamespaceLabels: test.labels, NamespaceAnnotations: test.annotations}, fleetyaml.Options{NamespaceLabels: got.Options.NamespaceLabels, NamespaceAnnotations: got.Options.NamespaceAnnotations}); difference != "" {
				t.Errorf("options (-want +got):\n%s", difference)
			}
			if difference := cmp.Diff(test.values, got.HelmOptions().Values); difference != "" {
				t.Errorf("values (-want +got):\n%s", difference)
			}
		})
	}
}

// Clusters do not share what is templated for one of them, and their digests differ only where it does.
func TestNamespaceIsTemplatedForEachCluster(t *testing.T) {
	t.Parallel()

	const text = "namespaceLabels: {env: '${ .ClusterLabels.env }'}"
	result, err := target.Deployments(t.Context(), target.Input{
		Bundles: []*bundle.Bundle{parsed(t, "web", text)}, Rules: everywhere(), Evaluator: templates.InProcess{},
		Clusters: []target.Cluster{cluster("a", "env=dev"), cluster("b", "env=prod"), cluster("c", "env=prod")},
	})
	if err != nil || len(result.Deployments) != 3 {
		t.Fatal(result, err)
	}
	var envs, digests []string
	for _, d := range result.Deployments {
		envs, digests = append(envs, d.Options.NamespaceLabels["env"]), append(digests, d.Digest)
	}
	if difference := cmp.Diff([]string{"dev", "prod", "prod"}, envs); difference != "" {
		t.Error(difference)
	}
	if digests[0] == digests[1] || digests[1] != digests[2] {
		t.Errorf("digests: %q", digests)
	}
}

func TestCheckNamespaceLabels(t *testing.T) {
	t.Parallel()

	tests := map[string]bool{
		"": true, "a": true, "A-b_c.9": true, strings.Repeat("a", 63): true,
		"-a": false, "a b": false, "a/b": false, strings.Repeat("a", 64): false, "${ .ClusterName }": false,
	}
	for value, legal := range tests {
		t.Run(value, func(t *testing.T) {
			t.Parallel()

			d := target.Deployment{Namespace: "one", Bundle: &bundle.Bundle{Name: "web"}, Options: fleetyaml.Options{NamespaceLabels: map[string]string{"env": value}}}
			err := d.CheckNames()
			if refused := err != nil && strings.Contains(err.Error(), "is not a valid value of a label"); refused == legal || legal && err != nil {
				t.Errorf("got %v, want it legal: %t", err, legal)
			}
		})
	}
}
