package manifest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFlatten(t *testing.T) {
	t.Parallel()
	const object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain}\n"
	tests := map[string]struct {
		manifest string
		want     []string
	}{
		"no list":             {manifest: object, want: []string{"v1 ConfigMap plain"}},
		"a list":              {manifest: "apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Secret, metadata: {name: a}}, {apiVersion: apps/v1, kind: Deployment, metadata: {name: b}}]\n---\n" + object, want: []string{"v1 Secret a", "apps/v1 Deployment b", "v1 ConfigMap plain"}},
		"items without kinds": {manifest: "apiVersion: v1\nkind: SecretList\nitems: [{metadata: {name: a}}]\n", want: []string{"v1 Secret a"}},
		"a list in a list":    {manifest: "apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: ServiceList, items: [{metadata: {name: a}}]}]\n", want: []string{"v1 Service a"}},
		"nothing":             {manifest: "apiVersion: v1\nkind: List\nitems: []\n"},
		"no objects":          {manifest: "apiVersion: v1\nkind: List\nmetadata: {name: odd}\nitems: [1]\n", want: []string{"v1 List odd"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parsed, err := Parse([]byte(test.manifest))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, object := range Flatten(parsed) {
				got = append(got, object.GetAPIVersion()+" "+object.GetKind()+" "+object.GetName())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("the objects (-want +got):\n%s", diff)
			}
		})
	}
}
