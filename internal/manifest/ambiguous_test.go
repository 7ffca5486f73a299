package manifest

import (
	"testing"
)

// What a document of a new rendering may not contain, because Helm would read it differently.
func TestParseAllAmbiguous(t *testing.T) {
	t.Parallel()
	const (
		object  = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
		asJSON  = `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}`
		member  = `{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}`
		several = "the document contains more than one value; separate them by lines of ---"
		items   = "items must be a list of objects, because Helm treats every object with items as a list"
	)
	tests := map[string]struct{ content, want string }{
		"an object":                      {object, ""},
		"JSON":                           {asJSON, ""},
		"JSON after a byte order mark":   {"\ufeff" + asJSON, ""},
		"JSON after JSON":                {asJSON + "\n" + asJSON, "line 1: " + several},
		"JSON after JSON on one line":    {asJSON + asJSON, "line 1: " + several},
		"JSON after an object":           {object + "...\n" + asJSON, "line 1: " + several},
		"text after JSON":                {asJSON + "\n# comment\nfoo", "line 1: " + several},
		"an end of the document":         {object + "...\n", ""},
		"a document after a strange end": {object + "\u0085--- \u0085" + object, "line 1: " + several},
		"a document after no value":      {"---\n# comment\u0085---\n" + object, "line 3: " + several},
		"a document after an empty map":  {"{}\n" + asJSON, "line 1: " + several},
		"no value":                       {"---\n# comment\n---\n{}\n", ""},
		"a document on the line of ---":  {object + "--- " + asJSON + "\n", `splitting YAML documents: invalid Yaml document separator: ` + asJSON},
		"a document after a lone return": {"apiVersion: v1\rkind: ConfigMap\rmetadata: {name: a}\r--- \rkind: X\r", "line 1: " + several},
		"lines of Windows":               {"apiVersion: v1\r\nkind: ConfigMap\r\nmetadata: {name: a}\r\n", ""},
		"a list":                         {"apiVersion: v1\nkind: List\nitems: [" + member + "]\n", ""},
		"a list of lists":                {"apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: ConfigMapList, items: [" + member + "]}]\n", ""},
		"a list with null":               {object + "items: [" + member + ", null]\n", "line 1: ConfigMap a: " + items},
		"a list in a list with a number": {"apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: List, items: [1]}]\n", "line 1: List: " + items},
		"items of null":                  {object + "items: null\n", "line 1: ConfigMap a: " + items},
		"items of a map":                 {object + "---\n" + object + "items: {}\n", "line 5: ConfigMap a: " + items},
		"Items":                          {object + "Items: [" + member + "]\n", `line 1: ConfigMap a: the field "Items" must be written items`},
		"itemſ":                          {object + "itemſ: [" + member + "]\n", `line 1: ConfigMap a: the field "itemſ" must be written items`},
		"Kind":                           {object + "Kind: Secret\n", `line 1: ConfigMap a: the field "Kind" must be written kind`},
		"the Kelvin sign":                {object + "\u212aind: Secret\n", "line 1: ConfigMap a: the field \"\u212aind\" must be written kind"},
		"Metadata":                       {object + "Metadata: {}\n", `line 1: ConfigMap a: the field "Metadata" must be written metadata`},
		"Annotations":                    {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, Annotations: {helm.sh/hook: pre-install}}\n", `line 1: ConfigMap a: the field "Annotations" of metadata must be written annotations`},
		"metadata of a text":             {"apiVersion: v1\nkind: ConfigMap\nmetadata: a\n", "line 1: ConfigMap: metadata must be a map"},
		"a name of a number":             {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 1}\n", "line 1: ConfigMap: name of metadata is not text; put its value in quotes"},
		"annotations of a list":          {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: []}\n", "line 1: ConfigMap a: annotations of metadata must be a map"},
		"a field of a member":            {"apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: ConfigMap, metadata: {name: b, Labels: {}}}]\n", `line 1: ConfigMap b: the field "Labels" of metadata must be written labels`},
		"another spelling further below": {object + "data: {Kind: a, Items: b}\n", ""},
		"a text with a document":         {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: |\n    ---\n    ...\n", ""},
		"no mapping":                     {"- a\n", "document 1: json: cannot unmarshal array into Go value of type map[string]interface {}"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ""
			if _, err := ParseAll([]byte(test.content)); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("error = %q, want %q", got, test.want)
			}
		})
	}
}
