package templates_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
)

// A rendering contains its objects in full, those of a list one by one, and hooks in addition.
func TestRenderDocuments(t *testing.T) {
	t.Parallel()
	rendering, err := newCharts().Render(t.Context(), deployment(map[string]string{
		"Chart.yaml": chartYAML,
		"templates/a.yaml": "apiVersion: v1\nkind: List\nitems:\n- {kind: ConfigMap, apiVersion: v1, metadata: {name: a}, data: {b: x, a: y2}}\n" +
			"- {kind: Namespace, apiVersion: v1, metadata: {name: made}}\n",
		"templates/hook.yaml": "apiVersion: batch/v1\nkind: Job\nmetadata: {name: hook, annotations: {helm.sh/hook: pre-upgrade}}\nspec: {activeDeadlineSeconds: 12345678901234567}\n",
	}, nil))
	if err != nil {
		t.Fatal(err)
	}
	want := []diff.Document{
		{
			Object: diff.Object{Kind: "ConfigMap", Namespace: "ns", Name: "a"}, APIVersion: "v1",
			Content: `{"apiVersion":"v1","data":{"a":"y2","b":"x"},"kind":"ConfigMap","metadata":{"name":"a"}}`,
			Place:   "web/templates/a.yaml",
		},
		{Object: diff.Object{Kind: "Namespace", Name: "made"}, APIVersion: "v1", Content: `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"made"}}`, Place: "web/templates/a.yaml"},
		{
			Object: diff.Object{Group: "batch", Kind: "Job", Namespace: "ns", Name: "hook"}, APIVersion: "batch/v1", Hook: true,
			Content: `{"apiVersion":"batch/v1","kind":"Job","metadata":{"annotations":{"helm.sh/hook":"pre-upgrade"},"name":"hook"},"spec":{"activeDeadlineSeconds":12345678901234567}}`,
			Place:   "web/templates/hook.yaml",
		},
	}
	if diff := cmp.Diff(want, rendering.Documents); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
}
