package templates_test

import (
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

func TestObjectsAreThereOnce(t *testing.T) {
	t.Parallel()
	in := func(namespace string) string {
		return strings.Replace(configMap("a", "x"), "  name: a\n", "  name: a\n  namespace: "+namespace+"\n", 1)
	}
	hook := strings.Replace(configMap("a", "x"), "  name: a\n", "  name: a\n  annotations: {helm.sh/hook: pre-install}\n", 1)
	generated := "apiVersion: v1\nkind: Pod\nmetadata: {generateName: a-}\n"
	forced := func(d *target.Deployment) { d.Options.Namespace = "ns" }
	tests := map[string]struct {
		files  map[string]string
		change func(*target.Deployment)
		want   string // "": no error.
	}{
		"two files of plain manifests": {
			files: map[string]string{"a.yaml": configMap("a", "x"), "sub/b.yaml": "a: b\n---\n" + configMap("a", "z") + "---\n" + configMap("b", "z")},
			want:  "bundle b: ConfigMap/ns/a is defined twice, in a.yaml and in sub/b.yaml (document 1); remove one of them",
		},
		"one file": {
			files: map[string]string{"a.yaml": configMap("a", "x") + "---\n" + configMap("a", "z")},
			want:  "in a.yaml (document 1) and in a.yaml (document 2)",
		},
		"two templates, one says the namespace of the release": {
			files: map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": configMap("a", "x"), "templates/b.yaml": in("ns")},
			want:  "in web/templates/a.yaml and in web/templates/b.yaml",
		},
		"an item of a list": {
			files: map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": configMap("a", "x"), "templates/b.yaml": "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n"},
			want:  "in web/templates/a.yaml and in web/templates/b.yaml",
		},
		"two versions of one kind": {
			files: map[string]string{"a.yaml": "apiVersion: autoscaling/v1\nkind: HorizontalPodAutoscaler\nmetadata: {name: a}\n", "b.yaml": "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: a}\n"},
			want:  "HorizontalPodAutoscaler.autoscaling/ns/a is defined twice",
		},
		"two namespaces":           {files: map[string]string{"a.yaml": in("one"), "b.yaml": in("two")}},
		"two namespaces made one":  {files: map[string]string{"a.yaml": in("one"), "b.yaml": in("two")}, change: forced, want: "ConfigMap/ns/a is defined twice, in a.yaml and in b.yaml"},
		"hooks":                    {files: map[string]string{"a.yaml": hook, "b.yaml": hook}},
		"a hook and an object":     {files: map[string]string{"a.yaml": hook, "b.yaml": configMap("a", "x")}},
		"names that are generated": {files: map[string]string{"a.yaml": generated, "b.yaml": generated}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := newCharts().Render(t.Context(), deployment(test.files, test.change))
			if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v does not say %q", err, test.want)
			}
		})
	}
}

// Helm reports null in place of the values of a subchart as an error of the chart.
func TestValuesOfSubcharts(t *testing.T) {
	t.Parallel()
	const wrong = "the values of bundle b are not valid for its chart: "
	tests := map[string]struct {
		own    string // values.yaml of the chart
		values map[string]any
		want   string // "": no error.
	}{
		"null takes away what the chart says": {own: "redis: {size: 1}\n", values: map[string]any{"redis": nil}},
		"null takes away a value":             {own: "redis: {size: 1}\n", values: map[string]any{"redis": map[string]any{"size": nil}}},
		"null where the chart says nothing":   {own: "other: 1\n", values: map[string]any{"redis": nil}, want: wrong + "redis is null, and the subchart redis reads"},
		"null in the chart":                   {own: "redis:\n", want: wrong + "redis is null"},
		"text":                                {own: "redis: {size: 1}\n", values: map[string]any{"redis": "secret"}, want: wrong + "redis is text"},
		"null for a subchart of a subchart":   {own: "redis: {deep: ~}\n", want: wrong + "redis.deep is null, and the subchart deep reads"},
		"null beside another mistake":         {own: "redis: {deep: 5}\n", values: map[string]any{"redis": nil, "deep": nil}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := deployment(map[string]string{
				"Chart.yaml":                           chartYAML,
				"values.yaml":                          test.own,
				"templates/a.yaml":                     configMap("a", "x"),
				"charts/redis/Chart.yaml":              "apiVersion: v2\nname: redis\nversion: 1.0.0\n",
				"charts/redis/charts/deep/Chart.yaml":  "apiVersion: v2\nname: deep\nversion: 1.0.0\n",
				"charts/redis/charts/deep/values.yaml": "a: 1\n",
			}, func(d *target.Deployment) { d.Options.Helm = &fleetyaml.Helm{Values: test.values} })
			_, err := newCharts().Render(t.Context(), d)
			if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v does not say %q", err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("error %v shows a value", err)
			}
		})
	}
}
