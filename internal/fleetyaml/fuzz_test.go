package fleetyaml_test

import (
	"encoding/json"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// FuzzParse: no input makes Parse panic, and a definition that was read and written is read again
// unchanged.
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

// FuzzValues: no input makes Values panic, and the values are not larger than the returned size.
func FuzzValues(f *testing.F) {
	for _, seed := range []string{
		"", "~", "a: &a [1, 2]\nb: [*a, *a, {<<: {c: *a}}]\n", "a: &a [*a]", "- a", "a: 1\na: 2\n", "&a a: *a\n",
		"a: !!binary aGVsbG8=\nb: 2001-01-01\nc: 0o7\n", "? {a: b}\n: c\n", "<<: [{a: 1}, {b: 2}]\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		values, size, err := fleetyaml.Values(data)
		if err != nil {
			return
		}
		written, err := json.Marshal(values)
		if err != nil {
			t.Fatal(err)
		}
		const longestEscape = 8 // "\u003c" for "<", and quotes.
		if len(written) > longestEscape*size+len("null") {
			t.Errorf("%d bytes of JSON, and a size of %d:\n%s", len(written), size, written)
		}
	})
}

// FuzzCheckAliases: a text that Values reads also passes CheckAliases, in any number of documents.
func FuzzCheckAliases(f *testing.F) {
	for _, seed := range []string{"a: &a 1\nb: *a\n---\nc: 1\n", "{{ &a *b }}", "&a", "*", "\xff\xfe&\x00"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, _, err := fleetyaml.Values(data); err == nil && fleetyaml.CheckAliases(data) != nil {
			t.Error("CheckAliases() refuses what Values() reads")
		}
	})
}
