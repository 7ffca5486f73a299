package target_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker/templates"
)

// A text is public if a repository contains it unchanged. A text that a template changed is not
// public, nor is a text that HCL contains too.
func TestHCLText(t *testing.T) {
	t.Parallel()
	helm := func(values map[string]any) *fleetyaml.Helm { return &fleetyaml.Helm{Values: values} }
	image := map[string]any{"image": "web:1", "replicas": 2}
	given := map[string]any{"image": "web:1", "list": []any{map[string]any{"word": "swordfish"}}}
	templated := map[string]any{
		"image": "web:1", "team": "${ .ClusterLabels.team }", "region": "global.fleet.clusterLabels.region",
		"host": "${ .ClusterName }.${ index .ClusterLabels \"team\" }.example.com",
	}
	secret := map[string]any{"note": "${ .ClusterAnnotations.note }", "value": "${ .ClusterLabels.team }-${ .ClusterValues.key }", "other": "${ upper .ClusterLabels.team }"}
	labels := map[string]string{"team": "sharks", "region": "eu", "unused": "word"}
	tests := map[string]struct {
		definition fleetyaml.Definition
		hcl        bundle.HCL
		want       diff.HCLText
	}{
		"no options":             {},
		"values of a repository": {definition: fleetyaml.Definition{Options: fleetyaml.Options{Helm: helm(image)}}},
		"values in HCL": {
			definition: fleetyaml.Definition{Options: fleetyaml.Options{Helm: helm(given)}}, hcl: bundle.HCL{Texts: map[string]bool{"swordfish": true}},
			want: diff.HCLText{Texts: []string{"swordfish"}},
		},
		"a value of a file that HCL has as well": {
			definition: fleetyaml.Definition{Options: fleetyaml.Options{Helm: helm(given)}}, hcl: bundle.HCL{Texts: map[string]bool{"web:1": true}},
			want: diff.HCLText{Texts: []string{"web:1"}},
		},
		"labels of the cluster": {
			definition: fleetyaml.Definition{Options: fleetyaml.Options{Helm: helm(templated)}},
		},
		"annotations and template values of the cluster, and other templates": {
			definition: fleetyaml.Definition{Options: fleetyaml.Options{Helm: helm(secret)}},
			want:       diff.HCLText{Texts: []string{"SHARKS", "noted", "sharks-door"}},
		},
		"a template in HCL": {
			definition: fleetyaml.Definition{Options: fleetyaml.Options{Helm: helm(templated)}}, hcl: bundle.HCL{Texts: map[string]bool{"${ .ClusterLabels.team }": true}},
			want: diff.HCLText{Texts: []string{"sharks"}},
		},
		"template values": {
			definition: fleetyaml.Definition{Options: fleetyaml.Options{Helm: &fleetyaml.Helm{
				Values: image, TemplateValues: map[string]string{"team": "of ${ .ClusterLabels.team }", "plain": "text"},
			}}},
		},
		"values of a customization": {
			definition: fleetyaml.Definition{
				Options:              fleetyaml.Options{Helm: helm(image)},
				TargetCustomizations: []fleetyaml.Customization{{Options: fleetyaml.Options{Helm: helm(given)}, Criteria: fleetyaml.Criteria{ClusterName: "a"}}},
			},
			hcl:  bundle.HCL{Texts: map[string]bool{"swordfish": true}},
			want: diff.HCLText{Texts: []string{"swordfish"}},
		},
		"files in HCL": {hcl: bundle.HCL{Files: true}, want: diff.HCLText{All: true}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &bundle.Bundle{Name: "web", Definition: test.definition, HCL: test.hcl}
			cluster := target.NewCluster("a")
			cluster.Labels, cluster.Annotations, cluster.TemplateValues = labels, map[string]string{"note": "noted"}, map[string]any{"key": "door"}
			found, err := target.Deployments(t.Context(), target.Input{Bundles: []*bundle.Bundle{b}, Rules: []target.Rule{{ClusterName: "a"}}, Clusters: []target.Cluster{cluster}, Evaluator: templates.InProcess{}})
			if err != nil || len(found.Deployments) != 1 {
				t.Fatalf("deployments %+v, error %v", found, err)
			}
			if diff := cmp.Diff(test.want, found.Deployments[0].HCLText()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
