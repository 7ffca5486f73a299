package render

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
)

func TestDocumentsAndClassify(t *testing.T) {
	t.Parallel()
	const (
		hook = `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "hook", "annotations": {"helm.sh/hook": "pre-install"}}}`
		item = `{apiVersion: v1, kind: ConfigMap, metadata: {name: item, annotations: {helm.sh/hook: test}}}`
	)
	type result struct{ Ordinary, Hooks []string }
	tests := map[string]struct {
		outputs map[string]string
		want    result
		err     string
	}{
		"in the order of kinds": {
			outputs: map[string]string{"c/templates/b.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: b}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: b}\n", "c/templates/a.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n"},
			want:    result{Ordinary: []string{"Secret b", "Service a", "Service b"}},
		},
		"hooks": {
			outputs: map[string]string{"c/templates/a.yaml": hook + "\n---\n" + item},
			want:    result{Hooks: []string{"ConfigMap item", "Pod hook"}},
		},
		"a list as a hook": {
			outputs: map[string]string{"c/templates/a.yaml": "apiVersion: v1\nkind: List\nmetadata: {annotations: {helm.sh/hook: pre-install}}\nitems: [" + item + ", {apiVersion: v1, kind: Secret, metadata: {name: other}}]\n"},
			want:    result{Hooks: []string{"ConfigMap item", "Secret other"}},
		},
		"an item with the annotation of a hook": {
			outputs: map[string]string{"c/templates/a.yaml": "apiVersion: v1\nkind: List\nitems: [" + item + "]\n"},
			want:    result{Ordinary: []string{"ConfigMap item"}},
		},
		"an unknown event": {
			outputs: map[string]string{"c/templates/a.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: a, annotations: {helm.sh/hook: crd-install}}\n"},
		},
		"partials and notes": {
			outputs: map[string]string{"c/templates/_a.yaml": hook, "c/templates/NOTES.txt": hook},
		},
		"two values": {
			outputs: map[string]string{"c/templates/a.yaml": "# comment\n---\n" + hook + "\n" + hook},
			err:     "bundle b: c/templates/a.yaml (document 2): the document contains more than one value; separate them by lines of ---",
		},
		"hidden items": {
			outputs: map[string]string{"c/templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {helm.sh/hook: pre-install}}\nitems: [" + item + ", null]\n"},
			err:     "bundle b: c/templates/a.yaml: ConfigMap a: items must be a list of objects, because Helm treats every object with items as a list",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, failure := result{}, ""
			documents, err := Documents("b", test.outputs)
			if err != nil {
				failure = err.Error()
			}
			ordinary, hooks, err := classify(documents)
			if err != nil {
				t.Fatal(err)
			}
			for _, document := range ordinary {
				for _, object := range manifest.Flatten([]*unstructured.Unstructured{document.Object}) {
					got.Ordinary = append(got.Ordinary, object.GetKind()+" "+object.GetName())
				}
			}
			for _, hook := range hooks {
				for _, object := range hook.Objects {
					got.Hooks = append(got.Hooks, object.GetKind()+" "+object.GetName())
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" || failure != test.err {
				t.Errorf("error %q, want %q; documents (-want +got):\n%s", failure, test.err, diff)
			}
		})
	}
}
