package helm

import (
	"testing"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
)

func TestCheckedDocuments(t *testing.T) {
	t.Parallel()
	const web = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\n"
	parsed, err := manifest.Parse([]byte(web))
	if err != nil {
		t.Fatal(err)
	}
	checked := &checkedDocuments{}
	if _, err := checked.Write(parsed); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		text string
		want int
		err  string
	}{
		"the document":            {text: "---\n" + web, want: 1},
		"from a template":         {text: "---\n# Source: app/templates/web.yaml\n" + web + "---\n" + web, want: 2},
		"as Helm joins a removal": {text: "\n---\n" + web + "\n---\n" + web, want: 2},
		"nothing":                 {text: "\n---\n\n"},
		"another document":        {text: "---\n" + web + "---\n" + web + "data: {}\n", err: "document 2 was not checked"},
		"a comment":               {text: "---\n# Sources: x\n" + web, err: "document 1 was not checked"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, err := checked.in(test.text)
			reason := ""
			if unchecked, ok := err.(*UncheckedError); ok { //nolint:errorlint // It is not wrapped.
				reason = unchecked.Reason
			}
			if len(found) != test.want || reason != test.err {
				t.Errorf("%d documents, error %q, want %d, %q", len(found), reason, test.want, test.err)
			}
		})
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	id := func(kind, namespace, name string) objectID {
		return objectID{kind: schema.GroupKind{Kind: kind}, namespace: namespace, name: name}
	}
	info := func(kind, namespace, name string, scope meta.RESTScope) *resource.Info {
		return &resource.Info{
			Name: name, Namespace: namespace, Object: &unstructured.Unstructured{},
			Mapping: &meta.RESTMapping{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: kind}, Scope: scope},
		}
	}
	tests := map[string]struct {
		checked []objectID
		built   kube.ResourceList
		want    string
	}{
		"equal":             {checked: []objectID{id("Pod", "", "a"), id("Pod", "b", "a")}, built: kube.ResourceList{info("Pod", "ten", "a", meta.RESTScopeNamespace), info("Pod", "b", "a", meta.RESTScopeNamespace)}},
		"of the cluster":    {checked: []objectID{id("Node", "ten", "a")}, built: kube.ResourceList{info("Node", "", "a", meta.RESTScopeRoot)}},
		"one more":          {checked: []objectID{id("Pod", "", "a")}, built: kube.ResourceList{info("Pod", "ten", "a", meta.RESTScopeNamespace), info("Pod", "ten", "b", meta.RESTScopeNamespace)}, want: "it has 2 objects, and 1 were checked"},
		"none":              {checked: []objectID{id("Pod", "", "a")}, want: "it has 0 objects, and 1 were checked"},
		"another kind":      {checked: []objectID{id("Pod", "", "a")}, built: kube.ResourceList{info("Secret", "ten", "a", meta.RESTScopeNamespace)}, want: "object 1 is Secret ten/a, and Pod ten/a was checked"},
		"another namespace": {checked: []objectID{id("Pod", "", "a")}, built: kube.ResourceList{info("Pod", "other", "a", meta.RESTScopeNamespace)}, want: "object 1 is Pod other/a, and Pod ten/a was checked"},
		"another name":      {checked: []objectID{id("Node", "", "a")}, built: kube.ResourceList{info("Node", "", "b", meta.RESTScopeRoot)}, want: "object 1 is Node b, and Node a was checked"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ""
			if unchecked, ok := compare(test.checked, test.built, "ten").(*UncheckedError); ok { //nolint:errorlint // It is not wrapped.
				got = unchecked.Reason
			}
			if got != test.want {
				t.Errorf("reason %q, want %q", got, test.want)
			}
		})
	}
}
