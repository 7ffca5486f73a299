package target

import (
	"strings"
	"testing"
	"text/template"
)

func fieldContext() map[string]any {
	return map[string]any{
		"ClusterName":   "a: [b",
		"ClusterLabels": map[string]any{"env": "dev", "a.b/c": "dotted", "": "empty", "true": "keyword", "_x1": "y"},
		"ClusterValues": map[string]any{
			"yes": true, "no": false, "int": int64(-7), "float": 1e21, "nil": nil, "none": map[string]any(nil),
			"list": []any{"a"}, "action": "${ .ClusterName }",
			"a": map[string]any{"b": map[string]any{"c": "deep"}},
		},
	}
}

func TestReadFields(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		text    string
		inPlace bool
	}{
		"nothing":                  {"", true},
		"no action":                {" a: }b\n$ {", true},
		"a field":                  {"${.ClusterName}", true},
		"white space":              {"a ${ \t\r\n.ClusterName\n } b", true},
		"several fields":           {"$${ .ClusterName }}${ .ClusterLabels.env }{${ .ClusterLabels._x1 }", true},
		"a field called true":      {"${ .ClusterLabels.true }", true},
		"a deep field":             {"${ .ClusterValues.a.b.c }", true},
		"an integer":               {"${ .ClusterValues.int }", true},
		"bools":                    {"${ .ClusterValues.yes }${ .ClusterValues.no }", true},
		"a value with an action":   {"${ .ClusterValues.action }", true},
		"an index":                 {`${ index .ClusterLabels "a.b/c" }`, true},
		"an index without a space": {`${index .ClusterLabels ""}`, true},
		"an index of a deep field": {`${ index .ClusterValues.a.b "c" }`, true},

		"a number with a fraction":     {"${ .ClusterValues.float }", true},
		"nil":                          {"${ .ClusterValues.nil }", false},
		"a list":                       {"${ .ClusterValues.list }", false},
		"a map":                        {"${ .ClusterValues.a }", false},
		"a missing field":              {"${ .ClusterLabels.region }", false},
		"a missing key":                {`${ index .ClusterLabels "region" }`, false},
		"a field of a string":          {"${ .ClusterName.a }", false},
		"a field of nil":               {"${ .ClusterValues.nil.a }", false},
		"a field of an empty map":      {"${ .ClusterValues.none.a }", false},
		"everything":                   {"${ . }", false},
		"an empty action":              {"${ }", false},
		"an unclosed action":           {"${ .ClusterName", false},
		"an action in an action":       {"${ ${ .ClusterName } }", false},
		"a field that begins like a 1": {"${ .ClusterLabels.1 }", false},
		"a space in a path":            {"${ .ClusterLabels .env }", false},
		"a dash":                       {"${ .ClusterLabels.a-b }", false},
		"an umlaut":                    {"${ .ClusterLabels.ä }", false},
		"a variable":                   {"${ $.ClusterName }", false},
		"parentheses":                  {"${ (.ClusterName) }", false},
		"a left trim marker":           {" ${- .ClusterName }", false},
		"a right trim marker":          {"${ .ClusterName -} ", false},
		"a comment":                    {"${/* a */}", false},
		"a pipe":                       {"${ .ClusterName | len }", false},
		"a string":                     {`${ "a" }`, false},
		"an index with an escape":      {`${ index .ClusterLabels "\x65nv" }`, false},
		"an index with a raw string":   {"${ index .ClusterLabels `env` }", false},
		"an index with two keys":       {`${ index .ClusterValues "a" "b" }`, false},
		"an index without white space": {`${ index .ClusterLabels"env" }`, false},
		"a control structure":          {"${ if .ClusterName }a${ end }", false},
		"a read beside something else": {"${ .ClusterName }${ len .ClusterName }", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if got := compareFields(t, test.text); got != test.inPlace {
				t.Errorf("%q is read in place: %t, want %t", test.text, got, test.inPlace)
			}
		})
	}
}

func FuzzReadFields(f *testing.F) {
	for _, seed := range []string{
		"${ .ClusterName }", "a ${.ClusterLabels.env}${ .ClusterValues.a.b.c}", "${ .ClusterValues.int }\n}", "${- .ClusterName -}",
		`${ index .ClusterLabels "a.b/c" }`, "${/* a */}${ .ClusterValues.yes }", "${ define \"a\" }${ .ClusterName }${ end }",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) { compareFields(t, text) })
}

// compareFields reports whether the text is read in place. The result must then be the result of
// text/template.
func compareFields(t *testing.T, text string) bool {
	t.Helper()

	segments := parseFieldReads(text)
	if segments == nil {
		return false
	}
	got, ok := readFields(segments, fieldContext())
	parsed, err := template.New("text").Delims(LeftDelim, RightDelim).Option("missingkey=error").Parse(text)
	if err != nil {
		t.Fatalf("%q is no template: %v", text, err)
	}
	var want strings.Builder
	if err := parsed.Execute(&want, fieldContext()); ok && (err != nil || got != want.String()) {
		t.Errorf("readFields(%q) = %q, want %q, %v", text, got, want.String(), err)
	}
	return ok
}
