package manifest

import (
	"errors"
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
		"no objects":          {manifest: "apiVersion: v1\nkind: List\nmetadata: {name: odd}\nitems: [1]\n"},
		"members and null":    {manifest: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: odd}\nitems: [{apiVersion: v1, kind: Secret, metadata: {name: a}}, null]\n", want: []string{"v1 Secret a"}},
		"items of null":       {manifest: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: odd}\nitems: null\n", want: []string{"v1 ConfigMap odd"}},
		"other spellings":     {manifest: "apiVersion: v1\nkind: ConfigMap\nKind: Secret\nmetadata: {name: a, Name: b}\nItems: [{apiVersion: v1, kind: Secret, metadata: {name: a}}]\n", want: []string{"v1 ConfigMap a"}},
		"metadata of a text":  {manifest: "apiVersion: v1\nkind: ConfigMap\nmetadata: a\n", want: []string{"v1 ConfigMap "}},
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

func TestParseAll(t *testing.T) {
	t.Parallel()
	const object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain}\n"
	tests := map[string]struct {
		content string
		objects int
		want    *IncompleteError
	}{
		"an object":              {content: object, objects: 1},
		"JSON":                   {content: `{"apiVersion": "v1", "kind": "ConfigMap"}`, objects: 1},
		"nothing":                {content: "\n---\n# a comment\n---\n{}\n---\nnull\n---\n" + object, objects: 1},
		"no kind":                {content: "apiVersion: v1\nkid: ConfigMap\n", want: &IncompleteError{Line: 1, Missing: "kind"}},
		"an empty kind":          {content: "apiVersion: v1\nkind: ''\n", want: &IncompleteError{Line: 1, Missing: "kind"}},
		"a kind of a number":     {content: "apiVersion: v1\nkind: 1\n", want: &IncompleteError{Line: 1, Missing: "kind"}},
		"no version":             {content: object + "---\n\n# Source: x\nversion: v1\nkind: ConfigMap\n", want: &IncompleteError{Line: 7, Missing: "apiVersion"}},
		"a member without kind":  {content: object + "---\napiVersion: v1\nkind: List\nitems: [{apiVersion: v1, metadata: {name: a}}]\n", want: &IncompleteError{Line: 5, Missing: "kind"}},
		"the second of two":      {content: object + "---\n" + object + "---\nname: a\n---\nname: b\n", want: &IncompleteError{Line: 9, Missing: "apiVersion"}},
		"equal documents":        {content: "---\nname: a\n---\nname: a\n", want: &IncompleteError{Line: 2, Missing: "apiVersion"}},
		"JSON that is no object": {content: `{"name": "a"}`, want: &IncompleteError{Line: 1, Missing: "apiVersion"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects, err := ParseAll([]byte(test.content))
			got, _ := errors.AsType[*IncompleteError](err)
			if diff := cmp.Diff(test.want, got); diff != "" || len(objects) != test.objects {
				t.Errorf("%d objects, error %v, want %d; error (-want +got):\n%s", len(objects), err, test.objects, diff)
			}
			if lenient, err := Parse([]byte(test.content)); err != nil || len(lenient) < test.objects {
				t.Errorf("Parse found %d objects, error %v", len(lenient), err)
			}
		})
	}
}

func TestParseAllTexts(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ metadata, want string }{
		"texts":                  {`{name: a, labels: {a: b}, annotations: {c: "1", d: }}`, ""},
		"a number of a label":    {`{name: a, labels: {a: b, c: 1}}`, "ConfigMap a: c of metadata.labels is not text; put its value in quotes"},
		"a yes of an annotation": {`{name: a, annotations: {helm.sh/resource-policy: keep, x: true}}`, "ConfigMap a: x of metadata.annotations is not text; put its value in quotes"},
		"a list of labels":       {`{name: a, labels: {a: [b]}}`, "ConfigMap a: a of metadata.labels is not text; put its value in quotes"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ""
			if _, err := ParseAll([]byte("apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: ConfigMap, metadata: " + test.metadata + "}]\n")); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("error = %q, want %q", got, test.want)
			}
		})
	}
}

// A value that an API server would refuse during the apply is an error of the plan.
func TestParseFileTexts(t *testing.T) {
	t.Parallel()
	const first = "# a comment\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {a: 'yes'}}\n---\n"
	tests := map[string]struct{ content, want string }{
		"an annotation":     {first + "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\n  annotations:\n    a: yes\n", "line 12: ConfigMap b: a of metadata.annotations is not text; put its value in quotes"},
		"an item of a list": {"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a}\n  data:\n    a: 1\n", "line 8: ConfigMap a: a of data is not text; put its value in quotes"},
		"data":              {first + "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  b: x\n  a: 1\n", "line 12: ConfigMap a: a of data is not text; put its value in quotes"},
		"a secret":          {"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {port: 443}\n", "line 4: Secret a: port of stringData is not text; put its value in quotes"},
		"bytes as a list":   {"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {port: [52]}\n", ""},
		"a pod template":    {"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  template:\n    metadata:\n      annotations:\n        prometheus.io/scrape: true\n", "line 8: Deployment a: prometheus.io/scrape of spec.template.metadata.annotations is not text; put its value in quotes"},
		"a kind of others":  {"apiVersion: example.com/v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: 1}\n", ""},
		"JSON":              {`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": 1}}`, "line 1: ConfigMap a: a of data is not text; put its value in quotes"},
		"texts and nothing": {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: 'yes', b: }\n", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ""
			if _, err := ParseFile([]byte(test.content)); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("error = %q, want %q", got, test.want)
			}
		})
	}
}

func TestAnnotations(t *testing.T) {
	t.Parallel()
	objects, err := Parse([]byte("apiVersion: v1\nkind: CustomResourceDefinition\nmetadata: {name: a, annotations: {a: b, none: , number: 1}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"a": "b", "none": ""}, Annotations(objects[0])); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	kept := Flatten(objects)
	KeepCRDs(kept)
	if diff := cmp.Diff(map[string]string{"a": "b", "none": "", "helm.sh/resource-policy": "keep"}, Annotations(kept[0])); diff != "" {
		t.Errorf("annotations of a definition that is kept (-want +got):\n%s", diff)
	}
}

func TestParseFile(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		content string
		want    *IncompleteError
	}{
		"options of Fleet":     {content: "namespace: prod\nhelm: {values: {a: b}}\n"},
		"a dashboard":          {content: `{"panels": []}`},
		"an API version":       {content: "a: b\n---\napiVersion: v1\nknid: ConfigMap\n", want: &IncompleteError{Line: 3, Missing: "kind"}},
		"a kind":               {content: "version: v1\nkind: ConfigMap\n", want: &IncompleteError{Line: 1, Missing: "apiVersion"}},
		"metadata alone":       {content: "metadata: {name: a}\n", want: &IncompleteError{Line: 1, Missing: "apiVersion"}},
		"an empty API version": {content: "apiVersion:\n", want: &IncompleteError{Line: 1, Missing: "apiVersion"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseFile([]byte(test.content))
			got, _ := errors.AsType[*IncompleteError](err)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}
