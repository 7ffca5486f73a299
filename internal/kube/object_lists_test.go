package kube

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestParseList(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text, err string
		next      string
		kinds     []string
	}{
		"kinds of the API server": {
			text:  `{"apiVersion": "v1", "kind": "ConfigMapList", "metadata": {"continue": "t1"}, "items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]}`,
			kinds: []string{"v1/ConfigMap", "v1/ConfigMap"}, next: "t1",
		},
		"custom resources": {
			text:  `{"apiVersion": "x.io/v1", "kind": "WidgetList", "items": [{"apiVersion": "x.io/v1", "kind": "Widget"}]}`,
			kinds: []string{"x.io/v1/Widget"},
		},
		"no items":    {text: `{"apiVersion": "v1", "kind": "PodList", "items": null}`},
		"a null item": {text: `{"kind": "PodList", "items": [null]}`, err: "item 0 of the list is null"},
		"a kind of its own": {
			text:  `{"apiVersion": "x.io/v1", "kind": "Widgets", "items": [{"apiVersion": "x.io/v1", "kind": "Widget"}]}`,
			kinds: []string{"x.io/v1/Widget"},
		},
		"a text":       {text: `{"kind": "PodList", "items": "x"}`, err: "parsing the list: json: cannot unmarshal string into Go struct field .items of type []map[string]interface {}"},
		"an HTML page": {text: `<html>`, err: "parsing the list: invalid character '<' looking for beginning of value"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			items, next, err := parseList([]byte(test.text))
			if got := errorText(err); got != test.err {
				t.Fatalf("error %q, want %q", got, test.err)
			}
			var kinds []string
			for _, item := range items {
				kinds = append(kinds, item.GetAPIVersion()+"/"+item.GetKind())
			}
			if diff := cmp.Diff(test.kinds, kinds); diff != "" || next != test.next {
				t.Errorf("next %q; kinds (-want +got):\n%s", next, diff)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// What is read as a list has the objects that the dynamic client reads.
func FuzzParseList(f *testing.F) {
	for _, seed := range []string{
		`{"apiVersion": "v1", "kind": "ConfigMapList", "metadata": {"continue": "x"}, "items": [{"metadata": {"name": "a"}, "data": {"n": 1, "f": 1.5, "big": 9007199254740993}}]}`,
		`{"apiVersion": "v1", "kind": "List", "items": [{"kind": "A"}, {"apiVersion": "b"}, {"kind": "C", "apiVersion": "c", "x": [null, {}]}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		items, next, err := parseList(text)
		var want unstructured.UnstructuredList
		if err != nil || want.UnmarshalJSON(text) != nil {
			return
		}
		if diff := cmp.Diff(want.Items, items, cmpopts.EquateEmpty()); diff != "" || next != want.GetContinue() {
			t.Errorf("next %q, want %q; items (-want +got):\n%s", next, want.GetContinue(), diff)
		}
	})
}
