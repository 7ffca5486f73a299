package manifest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
)

func TestUnion(t *testing.T) {
	t.Parallel()
	deployment := func(pod string) string {
		return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: " + pod + "}}\n"
	}
	custom := func(spec string) string {
		return "apiVersion: example.com/v1\nkind: Web\nmetadata: {name: web}\nspec: " + spec + "\n"
	}
	tests := map[string]struct {
		newer, older, want string
	}{
		"an object of each": {newer: configMap("b", "x"), older: configMap("a", "x"), want: configMap("b", "x") + "---\n" + configMap("a", "x")},
		"a namespace that is written": {
			newer: configMap("a", "x"), older: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: ns}\n",
			want: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: ns}\ndata: {key: x}\n",
		},
		"a value of each": {newer: configMap("a", "new"), older: configMap("a", "old"), want: configMap("a", "new")},
		"fields of each": {
			newer: deployment("{hostNetwork: true}"), older: deployment("{nodeSelector: {a: b}}"), want: deployment("{hostNetwork: true, nodeSelector: {a: b}}"),
		},
		"a field that is null": {newer: deployment("{nodeSelector: null}"), older: deployment("{nodeSelector: {a: b}}"), want: deployment("{nodeSelector: {a: b}}")},
		"items with keys": {
			newer: deployment("{containers: [{name: b, image: b}, {name: a, image: new}]}"),
			older: deployment("{containers: [{name: a, image: old, command: [x]}, {name: c}]}"),
			want:  deployment("{containers: [{name: b, image: b}, {name: a, image: new, command: [x]}, {name: c}]}"),
		},
		"two items with one key": {
			newer: deployment("{containers: [{name: a, ports: [{containerPort: 1, protocol: TCP}, {containerPort: 1, protocol: UDP}]}]}"),
			older: deployment("{containers: [{name: a, ports: [{containerPort: 1}]}]}"),
			want:  deployment("{containers: [{name: a, ports: [{containerPort: 1, protocol: TCP}, {containerPort: 1, protocol: UDP}]}]}"),
		},
		"a list that is replaced": {
			newer: deployment("{containers: [{name: a, args: [x]}]}"), older: deployment("{containers: [{name: a, args: [x, y]}]}"), want: deployment("{containers: [{name: a, args: [x]}]}"),
		},
		"a list of plain items that is merged": {
			newer: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, finalizers: [b/b]}\n", older: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, finalizers: [a/a, b/b]}\n",
			want: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, finalizers: [b/b, a/a]}\n",
		},
		"a type that changed":    {newer: custom("{a: [1]}"), older: custom("{a: {b: 1}}"), want: custom("{a: [1]}")},
		"a kind of no Go type":   {newer: custom("{a: {b: 1}, l: [1]}"), older: custom("{a: {c: 2}, l: [2]}"), want: custom("{a: {b: 1, c: 2}, l: [1]}")},
		"two versions of a kind": {newer: custom("{a: 1}"), older: "apiVersion: example.com/v2\nkind: Web\nmetadata: {name: web}\nspec: {b: 2}\n", want: custom("{a: 1}")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newer, older := parsed(t, test.newer), parsed(t, test.older)
			if diff := cmp.Diff(parsed(t, test.want), manifest.Union("ns", newer, older)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(parsed(t, test.newer+"\n---\n"+test.older), append(newer, older...)); diff != "" {
				t.Errorf("the revisions were changed (-want +got):\n%s", diff)
			}
		})
	}
}

func configMap(name, value string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {key: " + value + "}\n"
}

func parsed(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := manifest.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}
