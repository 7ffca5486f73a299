package fleetyaml_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

func TestAttributes(t *testing.T) {
	t.Parallel()
	seven := 7
	tests := map[string]struct {
		in   fleetyaml.Attributes
		want fleetyaml.Definition
	}{
		"null is not there": {fleetyaml.Attributes{"namespace": nil, "helm": nil}, fleetyaml.Definition{}},
		"keys of maps are the user's": {
			fleetyaml.Attributes{"labels": map[string]any{"my_team": "a"}},
			fleetyaml.Definition{Labels: map[string]string{"my_team": "a"}},
		},
		"names that are not what they look like": {
			fleetyaml.Attributes{"delete_crd_resources": true, "helm": fleetyaml.Attributes{"disable_dns": true}, "depends_on_bundles": []any{fleetyaml.Attributes{"name": "db"}}},
			fleetyaml.Definition{
				DependsOn: []fleetyaml.Dependency{{Name: "db"}},
				Options:   fleetyaml.Options{DeleteCRDResources: true, Helm: &fleetyaml.Helm{DisableDNS: true}},
			},
		},
		"counts are numbers or percentages": {
			fleetyaml.Attributes{"rollout_strategy": fleetyaml.Attributes{"max_unavailable": "25%", "auto_partition_size": "0", "max_new": int64(7)}},
			fleetyaml.Definition{RolloutStrategy: &fleetyaml.RolloutStrategy{
				MaxUnavailable: &fleetyaml.Count{Text: "25%"}, AutoPartitionSize: &fleetyaml.Count{}, MaxNew: &seven,
			}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := test.in.Definition()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("definition (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCompileSelector(t *testing.T) {
	t.Parallel()
	on := labels.Set{"env": "prod", "my_zone": "a"}
	tests := map[string]struct {
		in      map[string]any
		matches bool
		err     string
	}{
		"everything":               {in: map[string]any{"all": true}, matches: true},
		"nothing":                  {in: map[string]any{}, err: "all = true"},
		"not everything":           {in: map[string]any{"all": false}, err: "all = true"},
		"no labels":                {in: map[string]any{"match_labels": map[string]any{}}, err: "all = true"},
		"everything and labels":    {in: map[string]any{"all": true, "match_labels": map[string]any{"env": "prod"}}, err: "all = true"},
		"labels":                   {in: map[string]any{"match_labels": map[string]any{"env": "prod", "my_zone": "a"}}, matches: true},
		"another value":            {in: map[string]any{"match_labels": map[string]any{"env": "dev"}}},
		"expressions":              {in: map[string]any{"match_expressions": []any{map[string]any{"key": "env", "operator": "In", "values": []any{"prod"}}}}, matches: true},
		"an operator that is none": {in: map[string]any{"match_expressions": []any{map[string]any{"key": "env", "operator": "Is"}}}, err: "operator"},
		"a key that is none":       {in: map[string]any{"labels": map[string]any{"env": "prod"}}, err: "nknown key"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			selector, err := fleetyaml.CompileSelector(test.in)
			switch {
			case test.err != "":
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("got %v, want an error about %q", err, test.err)
				}
			case err != nil || selector.Matches(on) != test.matches:
				t.Errorf("got %v, %v, want %t", selector, err, test.matches)
			}
		})
	}
}

func TestDefinitionFields(t *testing.T) {
	t.Parallel()
	fields, err := fleetyaml.Definition{Options: fleetyaml.Options{DefaultNamespace: "web", ForceSyncGeneration: 9007199254740993}}.Fields()
	want := map[string]any{"defaultNamespace": "web", "forceSyncGeneration": json.Number("9007199254740993")}
	if diff := cmp.Diff(want, fields); diff != "" || err != nil {
		t.Errorf("fields (-want +got), %v:\n%s", err, diff)
	}
}
