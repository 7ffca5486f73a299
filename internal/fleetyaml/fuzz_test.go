package fleetyaml_test

import (
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// FuzzParse: nothing makes Parse panic, and what it has read it reads again from
// what is written of it.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "---\n---\n", "name: a\nname: b\n", "helm: [unclosed", "? [a]: b\n",
		"helm: {chart: chart, values: {y: no, 1.5: 0x1F, a: [~, {b: 1e3}]}}",
		"targets:\n- &a {clusterName: x, helm: {values: {k: v}}}\n- <<: *a\n  namespace: n\n",
		"targetCustomizations: [{clusterSelector: {matchExpressions: [{key: a, operator: In, values: [b]}]}}]",
		"overrideTargets: []\npaused: on\nlabels: {a: 1, b: yes}\n", "a: &a [*a]", "!!binary x: y",
	} {
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, data []byte, strict bool) {
		first, _, err := fleetyaml.Parse("f", data, strict)
		if err != nil {
			return
		}
		written, err := yaml.Marshal(first)
		if err != nil {
			t.Fatal(err)
		}
		second, _, err := fleetyaml.Parse("f", written, true)
		if err != nil {
			t.Fatalf("what was read is written as\n%s\nand cannot be read again: %v", written, err)
		}
		again, err := yaml.Marshal(second)
		if err != nil {
			t.Fatal(err)
		}
		if string(written) != string(again) {
			t.Errorf("first\n%s\nthen\n%s", written, again)
		}
	})
}
