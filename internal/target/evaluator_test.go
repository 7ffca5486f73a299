package target_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker/templates"
)

// recorder is an evaluator that keeps its requests.
type recorder struct {
	requests []target.Templates
	// change changes the returned results.
	change func([]target.Evaluated) ([]target.Evaluated, error)
}

func (r *recorder) Evaluate(ctx context.Context, request target.Templates) ([]target.Evaluated, error) {
	r.requests = append(r.requests, request)
	results, err := templates.InProcess{}.Evaluate(ctx, request)
	if err != nil || r.change == nil {
		return results, err
	}
	return r.change(results)
}

// evaluate returns the values of each deployment, or its failure.
func evaluate(t *testing.T, evaluator target.Evaluator, clusters []target.Cluster, bundles ...*bundle.Bundle) map[string]any {
	t.Helper()

	result, err := target.Deployments(t.Context(), target.Input{Bundles: bundles, Rules: everywhere(), Clusters: clusters, Evaluator: evaluator})
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]any)
	for _, d := range result.Deployments {
		got[d.Key()] = d.HelmOptions().Values
	}
	for _, f := range result.Failures {
		got[target.Key(f.Cluster, f.Bundle)] = f.Err.Error()
	}
	return got
}

func TestEvaluatorRequests(t *testing.T) {
	t.Parallel()

	valued := cluster("valued", "env=prod")
	valued.TemplateValues = map[string]any{"size": float64(3)}
	clusters := []target.Cluster{cluster("a", "env=dev"), cluster("b", "env=dev"), cluster("c", "env=prod"), valued, cluster("bare")}
	tests := map[string]struct {
		text string
		// sets, contexts and runs are their numbers in the request. All are 0 without a request.
		sets, contexts, runs int
	}{
		"no values":                             {"", 0, 0, 0},
		"no templates":                          {"helm: {values: {a: b}}", 0, 0, 0},
		"template values without templates":     {"helm: {templateValues: {a: b}}", 0, 0, 0},
		"plain fields":                          {"helm: {values: {a: '${ .ClusterName }'}, templateValues: {b: '${ .ClusterLabels.env }'}}", 0, 0, 0},
		"references without templates":          {"helm: {values: {a: global.fleet.clusterLabels.env}}", 0, 0, 0},
		"references beside plain fields":        {"helm: {values: {a: global.fleet.clusterLabels.env, b: '${ .ClusterName }'}}", 0, 0, 0},
		"a field that some clusters lack":       {"helm: {values: {a: '${ .ClusterValues.size }'}}", 1, 1, 1},
		"labels in a pipe":                      {"helm: {values: {a: '${ .ClusterLabels.env | upper }'}}", 1, 2, 2},
		"names in a pipe":                       {"helm: {values: {a: '${ .ClusterName | upper }'}}", 1, 4, 4},
		"everything":                            {"helm: {values: {a: '${ keys . | sortAlpha }'}}", 1, 4, 4},
		"nothing of the cluster":                {"helm: {values: {a: '${ \"a\" }'}}", 1, 1, 1},
		"references in a template":              {"helm: {values: {a: global.fleet.clusterLabels.env, b: '${ \"a\" }'}}", 2, 1, 2},
		"customizations with their own values":  {"helm: {values: {a: '${ \"a\" }'}}\ntargetCustomizations: [{clusterName: a, helm: {values: {b: c}}}]", 2, 1, 2},
		"customizations with the same values":   {"helm: {values: {a: '${ \"a\" }'}}\ntargetCustomizations: [{clusterName: a, namespace: b}]", 1, 1, 1},
		"templates that do not run":             {"helm: {disablePreProcess: true, values: {a: '${ \"a\" }'}}", 0, 0, 0},
		"a customization that removes a target": {"helm: {values: {a: '${ .ClusterName | upper }'}}\ntargetCustomizations: [{clusterName: a, doNotDeploy: true}]", 1, 3, 3},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var kept recorder
			evaluate(t, &kept, clusters, parsed(t, "web", test.text))
			got := []int{len(kept.requests), 0, 0, 0}
			for _, r := range kept.requests {
				got = []int{len(kept.requests), len(r.Sets), len(r.Contexts), len(r.Runs)}
			}
			want := []int{min(test.runs, 1), test.sets, test.contexts, test.runs}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("requests, sets, contexts, runs (-want +got):\n%s", diff)
			}
		})
	}
}

// A request contains the fields that the templates read, and the parts that can cause an error.
func TestEvaluatorRequest(t *testing.T) {
	t.Parallel()

	one := cluster("one", "env=dev")
	one.TemplateValues = map[string]any{"list": []any{float64(1), nil, map[string]any{"a": true}}}
	var kept recorder
	evaluate(t, &kept, []target.Cluster{one},
		parsed(t, "web", "helm: {values: {a: ['${ .ClusterValues.list | len }', b]}, templateValues: {c: '${ len .ClusterLabels }'}}"))
	want := []target.Templates{{
		Sets: []target.TemplateSet{{Templates: []target.Template{
			{
				Place: "helm.values", Text: "a:\n- ${ .ClusterValues.list | len }\n- b\n",
				Parts: []target.TemplatePart{{Place: "helm.values.a[0]", Text: "${ .ClusterValues.list | len }"}},
			},
			{Place: "helm.templateValues.c", Text: "${ len .ClusterLabels }"},
		}}},
		Contexts: []map[string]any{{
			"ClusterLabels": map[string]any{"env": "dev"},
			"ClusterValues": map[string]any{"list": []any{float64(1), nil, map[string]any{"a": true}}},
		}},
		Runs: []target.TemplateRun{{Set: 0, Context: 0}},
	}}
	if diff := cmp.Diff(want, kept.requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// A failure on one cluster, or in one bundle, does not affect others.
func TestEvaluatorFailures(t *testing.T) {
	t.Parallel()

	clusters := []target.Cluster{cluster("a", "env=dev"), cluster("b", "env=prod"), cluster("plain", "env=dev", "region=eu"), cluster("bare")}
	asks := parsed(t, "asks", "helm: {values: {a: '${ .ClusterLabels.region }'}}\n")
	asks.DefinitionFile = "asks/fleet.yaml"
	partial := parsed(t, "partial", "helm: {values: {a: '${ if eq .ClusterLabels.env \"prod\" }${ fail \"no\" }${ end }${ .ClusterLabels.env }'}}\n")
	fine := parsed(t, "fine", "helm: {values: {a: '${ .ClusterLabels.env }'}}\n")

	// The cause does not affect the bundle "fine", which needs no evaluator.
	fineValues := map[string]any{
		"a/fine": map[string]any{"a": "dev"}, "b/fine": map[string]any{"a": "prod"},
		"plain/fine": map[string]any{"a": "dev"}, "bare/fine": map[string]any{"a": "${ .ClusterLabels.env }"},
	}
	notAsking := map[string]any{"plain/asks": map[string]any{"a": "eu"}, "bare/asks": map[string]any{"a": "${ .ClusterLabels.region }"}}
	failing := func(cause string) map[string]any {
		text := "running the templates of asks/fleet.yaml: " + cause
		return joined(fineValues, notAsking, map[string]any{"a/asks": text, "b/asks": text})
	}
	text := `templating helm.values.a: template: helm.values.a:1:39: executing "helm.values.a" at <fail "no">: error calling fail: no`
	tests := map[string]struct {
		bundles   []*bundle.Bundle
		evaluator target.Evaluator
		want      map[string]any
	}{
		"a template fails on one cluster": {
			[]*bundle.Bundle{partial},
			templates.InProcess{},
			map[string]any{
				"a/partial": map[string]any{"a": "dev"}, "b/partial": text, "plain/partial": map[string]any{"a": "dev"},
				"bare/partial": partial.Definition.Helm.Values,
			},
		},
		"the worker dies": {
			[]*bundle.Bundle{asks, fine},
			&recorder{change: func([]target.Evaluated) ([]target.Evaluated, error) { return nil, errors.New("worker died") }},
			failing("worker died"),
		},
		"no evaluator": {[]*bundle.Bundle{asks, fine}, nil, failing("there is no evaluator")},
		"too few results": {
			[]*bundle.Bundle{asks, fine},
			&recorder{change: func([]target.Evaluated) ([]target.Evaluated, error) { return nil, nil }},
			failing("the evaluator returned 0 results for 2 runs"),
		},
		"too few texts": {
			[]*bundle.Bundle{asks, fine},
			&recorder{change: func(results []target.Evaluated) ([]target.Evaluated, error) {
				return make([]target.Evaluated, len(results)), nil
			}},
			failing("the evaluator returned 0 texts for 1 templates"),
		},
		"too many texts": {
			[]*bundle.Bundle{asks, fine},
			&recorder{change: func(results []target.Evaluated) ([]target.Evaluated, error) {
				return slices.Repeat([]target.Evaluated{{Texts: []string{"a", "b"}}}, len(results)), nil
			}},
			failing("the evaluator returned 2 texts for 1 templates"),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if diff := cmp.Diff(test.want, evaluate(t, test.evaluator, clusters, test.bundles...)); diff != "" {
				t.Errorf("deployments (-want +got):\n%s", diff)
			}
		})
	}
}

func joined(all ...map[string]any) map[string]any {
	into := make(map[string]any)
	for _, m := range all {
		maps.Copy(into, m)
	}
	return into
}

func TestEvaluationErrorIsTyped(t *testing.T) {
	t.Parallel()

	died := errors.New("worker died")
	result, err := target.Deployments(t.Context(), target.Input{
		Bundles: []*bundle.Bundle{parsed(t, "b", "helm: {values: {a: '${ now }'}}")}, Rules: everywhere(), Clusters: []target.Cluster{cluster("c", "a=b")},
		Evaluator: &recorder{change: func([]target.Evaluated) ([]target.Evaluated, error) { return nil, died }},
	})
	if err != nil || len(result.Failures) != 1 {
		t.Fatal(result, err)
	}
	failure := result.Failures[0].Err
	if templating, ok := errors.AsType[*target.TemplateError](failure); !ok || templating.Place != "" || !errors.Is(failure, died) {
		t.Errorf("failure is %T: %v", failure, failure)
	}
}

func TestDeploymentsEndWithContext(t *testing.T) {
	t.Parallel()

	ctx, cancel := context.WithCancel(t.Context())
	_, err := target.Deployments(ctx, target.Input{
		Bundles: []*bundle.Bundle{parsed(t, "b", "helm: {values: {a: '${ now }'}}")}, Rules: everywhere(), Clusters: []target.Cluster{cluster("c", "a=b")},
		Evaluator: &recorder{change: func([]target.Evaluated) ([]target.Evaluated, error) {
			cancel()
			return nil, errors.New("worker died")
		}},
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Deployments() error = %v, want %v", err, context.Canceled)
	}
}

// If several templates are wrong, always the same one is reported.
func TestFirstWrongTemplate(t *testing.T) {
	t.Parallel()

	const (
		unclosed  = "template: helm.values.a:1: unclosed action"
		unclosedT = "template: helm.templateValues.b:1: unclosed action"
		noYAML    = "error converting YAML to JSON: yaml: line 1: did not find expected node content"
	)
	tests := map[string]struct{ text, want string }{
		"both unparsed": {
			"helm: {values: {a: '${ len'}, templateValues: {b: '${ len'}}", "templating helm.values.a: " + unclosed,
		},
		"both unparsed, with references": {
			"helm: {values: {a: '${ len', c: global.fleet.clusterLabels.env}, templateValues: {b: '${ len'}}", "templating helm.templateValues.b: " + unclosedT,
		},
		"values fail, template values unparsed": {
			"helm: {values: {a: '${ fail \"no\" }'}, templateValues: {b: '${ len'}}", "templating helm.templateValues.b: " + unclosedT,
		},
		"values are not YAML, template values fail": {
			"helm: {values: {a: '${ \"[\" }'}, templateValues: {b: '${ fail \"no\" }'}}", "templating helm.values: they are not YAML after templating: " + noYAML,
		},
		"the first template value fails, the second is not YAML": {
			"helm: {templateValues: {b: '${ fail \"no\" }', c: '${ \"[\" }'}}",
			`templating helm.templateValues.b: template: helm.templateValues.b:1:3: executing "helm.templateValues.b" at <fail "no">: error calling fail: no`,
		},
		"the first template value is not YAML, the second fails": {
			"helm: {templateValues: {b: '${ \"[\" }', c: '${ fail \"no\" }'}}", "templating helm.templateValues.b: it is not YAML after templating: " + noYAML,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			got := evaluate(t, templates.InProcess{}, []target.Cluster{cluster("c", "env=dev")}, parsed(t, "web", test.text))
			if diff := cmp.Diff(map[string]any{"c/web": test.want}, got); diff != "" {
				t.Errorf("deployments (-want +got):\n%s", diff)
			}
		})
	}
}
