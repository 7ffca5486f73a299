package templates_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker/templates"
)

func set(texts ...string) target.TemplateSet {
	var s target.TemplateSet
	for i, text := range texts {
		s.Templates = append(s.Templates, target.Template{Place: string(rune('a' + i)), Text: text})
	}
	return s
}

func TestEvaluateValues(t *testing.T) {
	t.Parallel()

	parts := target.TemplateSet{Templates: []target.Template{{
		Place: "all", Text: "a: ${ len .Labels.env }\nb: ${ .Labels.region }\n",
		Parts: []target.TemplatePart{{Place: "all.a", Text: "${ len .Labels.env }"}, {Place: "all.b", Text: "${ .Labels.region }"}},
	}}}
	late := set("${ len", "${ nosuch }")
	late.FirstParsedLast = true
	failed := func(place, cause string) *target.TemplateFailure {
		return &target.TemplateFailure{Place: place, Cause: cause}
	}
	tests := map[string]struct {
		set  target.TemplateSet
		want target.Evaluated
	}{
		"a list of texts": {set("${ .Name }", "b", ""), target.Evaluated{Texts: []string{"one", "b", ""}}},
		"functions of sprig": {
			set(`${ .Name | upper | quote }`), target.Evaluated{Texts: []string{`"ONE"`}},
		},
		"a template that changes what the next one reads": {
			set(`${ set .Labels "env" "prod" | len }`, "${ .Labels.env }"), target.Evaluated{Texts: []string{"1", "prod"}},
		},
		"a template that defines another one": {
			set(`${ define "x" }a${ end }${ template "x" }`, `${ template "x" }`),
			target.Evaluated{Texts: []string{"a"}, Failure: failed("b", `template: b:1:12: executing "b" at <{{template "x"}}>: template "x" not defined`)},
		},
		"the first one cannot be parsed": {
			set("${ len", "${ nosuch }"), target.Evaluated{Failure: failed("a", "template: a:1: unclosed action")},
		},
		"the first one is parsed last": {
			late, target.Evaluated{Failure: failed("b", `template: b:1: function "nosuch" not defined`)},
		},
		"a later one cannot be parsed": {
			set("a", "${ len"), target.Evaluated{Failure: failed("b", "template: b:1: unclosed action")},
		},
		"a later one fails": {
			set("a", `${ fail "no" }`, "c"),
			target.Evaluated{Texts: []string{"a"}, Failure: failed("b", `template: b:1:3: executing "b" at <fail "no">: error calling fail: no`)},
		},
		"a part is to blame": {
			parts, target.Evaluated{Failure: failed("all.b", `template: all.b:1:10: executing "all.b" at <.Labels.region>: map has no entry for key "region"`)},
		},
		"a function that is not hermetic": {
			set("${ now }"),
			target.Evaluated{Failure: &target.TemplateFailure{
				Place: "a", NonHermetic: "now",
				Cause: `template: a:1:3: executing "a" at <now>: error calling now: now returns another result each time, so every plan would show a change; pass the value from Terraform`,
			}},
		},
		"a function of the machine": {
			set(`${ env "HOME" }`), target.Evaluated{Failure: failed("a", `template: a:1: function "env" not defined`)},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			request := target.Templates{
				Sets:     []target.TemplateSet{test.set},
				Contexts: []map[string]any{{"Name": "one", "Labels": map[string]any{"env": "dev"}}},
				Runs:     []target.TemplateRun{{Set: 0, Context: 0}},
			}
			if diff := cmp.Diff([]target.Evaluated{test.want}, templates.EvaluateValues(request)); diff != "" {
				t.Errorf("EvaluateValues() (-want +got):\n%s", diff)
			}
		})
	}
}

// Runs share sets and contexts, and a change by one run has no effect on the others.
func TestEvaluateValuesRuns(t *testing.T) {
	t.Parallel()

	request := target.Templates{
		Sets: []target.TemplateSet{set(`${ .Labels.env }${ set .Labels "env" "changed" | len }${ set (first .List) "a" "b" | len }`), set("${ .Labels.env }")},
		Contexts: []map[string]any{
			{"Labels": map[string]any{"env": "dev"}, "List": []any{map[string]any{}}},
			{"Labels": map[string]any{"env": "prod"}, "List": []any{map[string]any{"a": nil}}},
		},
		Runs: []target.TemplateRun{{Set: 0, Context: 0}, {Set: 0, Context: 1}, {Set: 0, Context: 0}, {Set: 1, Context: 0}, {Set: 1, Context: 1}},
	}
	before := fingerprint(t, request)
	want := []target.Evaluated{{Texts: []string{"dev11"}}, {Texts: []string{"prod11"}}, {Texts: []string{"dev11"}}, {Texts: []string{"dev"}}, {Texts: []string{"prod"}}}
	if diff := cmp.Diff(want, templates.EvaluateValues(request)); diff != "" {
		t.Errorf("EvaluateValues() (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, fingerprint(t, request)); diff != "" {
		t.Errorf("the request has changed (-before +after):\n%s", diff)
	}
}

func fingerprint(t *testing.T, of any) string {
	t.Helper()

	text, err := json.Marshal(of)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
