package target_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker/templates"
)

// parsed returns a bundle from the text of a fleet.yaml.
func parsed(tb testing.TB, name, text string) *bundle.Bundle {
	tb.Helper()

	def, _, err := fleetyaml.Parse(name, []byte(text), true)
	if err != nil {
		tb.Fatal(err)
	}
	return &bundle.Bundle{Name: name, Path: ".", Definition: def, Content: "v1-" + name}
}

func cluster(name string, labels ...string) target.Cluster {
	c := target.NewCluster(name)
	c.Labels = make(map[string]string)
	for _, label := range labels {
		key, value, _ := strings.Cut(label, "=")
		c.Labels[key] = value
	}
	return c
}

func labelled(key, value string) *fleetyaml.Selector {
	return &fleetyaml.Selector{MatchLabels: map[string]string{key: value}}
}

func everywhere() []target.Rule { return []target.Rule{{ClusterSelector: &fleetyaml.Selector{}}} }

func TestMatch(t *testing.T) {
	t.Parallel()

	displayed := cluster("c-x7k2", "management.cattle.io/cluster-display-name=by-label")
	displayed.DisplayName = "by-field"
	clusters := []target.Cluster{cluster("prod-us", "env=prod", "region=us"), cluster("dev", "env=dev"), displayed, cluster("prod-eu", "env=prod", "region=eu")}
	groups := []target.Group{
		{Name: "prods", Selector: *labelled("env", "prod"), Labels: map[string]string{"tier": "prod"}},
		{Name: "europe", Selector: *labelled("region", "eu"), Labels: map[string]string{"area": "eu"}},
	}
	tests := map[string]struct {
		rule target.Rule
		want []string
	}{
		"no criterion":                        {target.Rule{}, nil},
		"an empty selector":                   {target.Rule{ClusterSelector: &fleetyaml.Selector{}}, []string{"c-x7k2", "dev", "prod-eu", "prod-us"}},
		"a label":                             {target.Rule{ClusterSelector: labelled("env", "prod")}, []string{"prod-eu", "prod-us"}},
		"a name":                              {target.Rule{ClusterName: "dev"}, []string{"dev"}},
		"a display name":                      {target.Rule{ClusterName: "by-field"}, []string{"c-x7k2"}},
		"Rancher's display name":              {target.Rule{ClusterName: "by-label"}, []string{"c-x7k2"}},
		"a name and a label that it lacks":    {target.Rule{ClusterName: "dev", ClusterSelector: labelled("env", "prod")}, nil},
		"a group":                             {target.Rule{ClusterGroup: "prods"}, []string{"prod-eu", "prod-us"}},
		"a group by label":                    {target.Rule{ClusterGroupSelector: labelled("area", "eu")}, []string{"prod-eu"}},
		"two groups, neither of which is all": {target.Rule{ClusterGroup: "prods", ClusterGroupSelector: labelled("area", "eu")}, nil},
		"any group, also none":                {target.Rule{ClusterGroupSelector: &fleetyaml.Selector{}}, []string{"c-x7k2", "dev", "prod-eu", "prod-us"}},
		"no such label": {
			target.Rule{ClusterSelector: &fleetyaml.Selector{MatchExpressions: []fleetyaml.Requirement{{Key: "env", Operator: "DoesNotExist"}}}},
			[]string{"c-x7k2"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			matched, err := target.Match([]target.Rule{test.rule}, clusters, groups)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range matched {
				got = append(got, c.Name)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("Match() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMatchErrors(t *testing.T) {
	t.Parallel()

	clusters := []target.Cluster{cluster("b"), cluster("a")}
	groups := []target.Group{{Name: "g"}}
	tests := map[string]struct {
		rule target.Rule
		want string
	}{
		"an unknown cluster": {target.Rule{ClusterName: "c"}, `rule 2: no cluster is called "c"; the clusters are a, b`},
		"an unknown group":   {target.Rule{ClusterGroup: "h"}, `rule 2: no cluster group is called "h"; the cluster groups are g`},
		"a broken selector": {
			target.Rule{ClusterSelector: &fleetyaml.Selector{MatchExpressions: []fleetyaml.Requirement{{Key: "a", Operator: "Like"}}}},
			`rule 2: cluster selector: expression about label "a": operator "Like" is not one of In, NotIn, Exists, DoesNotExist`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			_, err := target.Match([]target.Rule{{}, test.rule}, clusters, groups)
			rule, ok := errors.AsType[*target.RuleError](err)
			if !ok || rule.Index != 1 || err.Error() != test.want {
				t.Errorf("Match() error = %v, want %s", err, test.want)
			}
		})
	}
	if _, err := target.Match(nil, []target.Cluster{cluster("a"), cluster("a")}, nil); err == nil {
		t.Error("Match() takes two clusters of one name")
	}
}

func TestDeployments(t *testing.T) {
	t.Parallel()

	paused := cluster("paused", "env=dev")
	paused.Paused = true
	result, err := target.Deployments(t.Context(), target.Input{
		Bundles: []*bundle.Bundle{
			parsed(t, "web", "defaultNamespace: shop\ntargetCustomizations:\n- {clusterSelector: {matchLabels: {env: prod}}, namespace: prod, helm: {releaseName: web-prod}}\n- {clusterName: skipped, doNotDeploy: true}\n"),
			parsed(t, "Odd_Name", "overrideTargets: [{clusterName: prod}]\n"),
		},
		Rules:    []target.Rule{{ClusterSelector: labelled("env", "dev")}, {ClusterName: "prod"}, {ClusterSelector: labelled("env", "none")}},
		Clusters: []target.Cluster{cluster("prod", "env=prod"), paused, cluster("skipped", "env=dev"), cluster("other"), cluster("dev", "env=dev")},
	})
	if err != nil {
		t.Fatal(err)
	}
	const oddHash = "2ec7ba08" // The beginning of the MD5 of Odd_Name.
	var got []string
	for _, d := range result.Deployments {
		got = append(got, fmt.Sprintf("%s: %s/%s paused=%t", d.Key(), d.Namespace, d.Release, d.Paused))
	}
	want := []string{
		"dev/web: shop/web paused=false",
		"paused/web: shop/web paused=true",
		"prod/Odd_Name: default/odd-name-" + oddHash + " paused=false",
		"prod/web: prod/web-prod paused=false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("deployments (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{2}, result.Unmatched); diff != "" {
		t.Errorf("unmatched (-want +got):\n%s", diff)
	}
}

func TestDeploymentsFailures(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		text string
		want string
		is   func(error) bool
	}{
		"a label that is missing": {
			"helm: {values: {a: {ok: '${ .ClusterName }', region: ['${ .ClusterLabels.region }']}}}",
			`templating helm.values.a.region[0]: template: helm.values.a.region[0]:1:17: executing "helm.values.a.region[0]" at <.ClusterLabels.region>: map has no entry for key "region"`,
			is[*target.TemplateError],
		},
		"a template that cannot be parsed": {
			"helm: {values: {a: ok, b: '${ .ClusterName'}}",
			"templating helm.values.b: template: helm.values.b:1: unclosed action",
			is[*target.TemplateError],
		},
		"a key": {
			"helm: {values: {'${ fail \"no\" }': 1}}",
			`templating helm.values: template: helm.values:1:3: executing "helm.values" at <fail "no">: error calling fail: no`,
			is[*target.TemplateError],
		},
		"a result that is not YAML": {
			"helm: {values: {a: '${ \"[\" }'}}",
			"templating helm.values: they are not YAML after templating: error converting YAML to JSON: yaml: line 1: did not find expected node content",
			is[*target.TemplateError],
		},
		"a template value": {
			"helm: {templateValues: {a: '${ toYaml . }'}}",
			`templating helm.templateValues.a: template: helm.templateValues.a:1: function "toYaml" not defined`,
			is[*target.TemplateError],
		},
		"a template value that is not YAML": {
			"helm: {templateValues: {a: '${ \"{\" }'}}",
			"templating helm.templateValues.a: it is not YAML after templating: error converting YAML to JSON: yaml: line 1: did not find expected node content",
			is[*target.TemplateError],
		},
		"a function that changes with time": {
			"helm: {values: {a: '${ now | date \"2006\" }'}}",
			`templating helm.values.a: template: helm.values.a:1:3: executing "helm.values.a" at <now>: error calling now: now returns another result each time, so every plan would show a change; pass the value from Terraform`,
			is[*target.NonHermeticError],
		},
		"a release name": {
			"helm: {releaseName: Web}",
			`"Web" is not a valid name of a Helm release: use at most 53 lower case letters, digits, "-" and ".", with a letter or digit at both ends`,
			is[*target.ReleaseNameError],
		},
		"a release name that is too long": {
			"helm: {releaseName: " + strings.Repeat("a", 54) + "}", "", is[*target.ReleaseNameError],
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			result, err := target.Deployments(t.Context(), target.Input{
				Bundles:  []*bundle.Bundle{parsed(t, "bad", test.text), parsed(t, "good", "")},
				Rules:    everywhere(),
				Clusters: []target.Cluster{cluster("a", "env=dev")}, Evaluator: templates.InProcess{},
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(result.Failures) != 1 || result.Failures[0].Bundle != "bad" || len(result.Deployments) != 1 {
				t.Fatalf("Deployments() = %+v", result)
			}
			failure := result.Failures[0].Err
			if test.want != "" && failure.Error() != test.want {
				t.Errorf("failure (-want +got):\n%s", cmp.Diff(test.want, failure.Error()))
			}
			if !test.is(failure) {
				t.Errorf("failure %T is not of the type it should be", failure)
			}
		})
	}
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func TestDeploymentsClash(t *testing.T) {
	t.Parallel()

	result, err := target.Deployments(t.Context(), target.Input{
		Bundles: []*bundle.Bundle{
			parsed(t, "b", "helm: {releaseName: same}\n"),
			parsed(t, "a", "targets: [{clusterName: two, helm: {releaseName: same}}]\n"),
		},
		Rules: everywhere(), Clusters: []target.Cluster{cluster("one"), cluster("two")},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range result.Failures {
		got = append(got, target.Key(f.Cluster, f.Bundle)+": "+f.Err.Error())
	}
	const text = "bundles a, b all use release same in namespace default; set another helm.release_name or namespace for each"
	if diff := cmp.Diff([]string{"two/a: " + text, "two/b: " + text}, got); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
	if len(result.Deployments) != 2 {
		t.Errorf("%d deployments, want those of cluster one", len(result.Deployments))
	}
}

func TestNonHermeticFunctions(t *testing.T) {
	t.Parallel()

	for _, call := range []string{
		"now", "ago now", "uuidv4", "randAlphaNum 5", "randInt 1 2", "randBytes 3", "shuffle \"ab\"", "genPrivateKey \"rsa\"",
		"genCA \"a\" 1", "genSelfSignedCert \"a\" nil nil 1", "bcrypt \"a\"", "htpasswd \"a\" \"b\"", "encryptAES \"k\" \"v\"",
	} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()

			b := parsed(t, "b", "helm: {templateValues: {a: '${ "+call+" }'}}")
			result, err := target.Deployments(t.Context(), target.Input{Bundles: []*bundle.Bundle{b}, Rules: everywhere(), Clusters: []target.Cluster{cluster("c", "a=b")}, Evaluator: templates.InProcess{}})
			if err != nil {
				t.Fatal(err)
			}
			if len(result.Failures) != 1 || !is[*target.NonHermeticError](result.Failures[0].Err) {
				t.Errorf("Deployments() = %+v", result)
			}
		})
	}
}

func TestDates(t *testing.T) {
	t.Parallel()

	b := parsed(t, "b", `helm:
  values:
    seconds: '${ date "2006-01-02T15" 86400 | quote }'
    zone: '${ dateInZone "15" 0 "UTC" | quote }'
    parsed: '${ toDate "2006-01-02" "2024-05-06" | htmlDate | quote }'
`)
	result, err := target.Deployments(t.Context(), target.Input{Bundles: []*bundle.Bundle{b}, Rules: everywhere(), Clusters: []target.Cluster{cluster("c", "a=b")}, Evaluator: templates.InProcess{}})
	if err != nil || len(result.Failures) > 0 {
		t.Fatal(err, result.Failures)
	}
	want := map[string]any{"seconds": "1970-01-02T00", "zone": "00", "parsed": "2024-05-06"}
	if diff := cmp.Diff(want, result.Deployments[0].Options.Helm.Values); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

// Templates may change their context. Other templates must not see the changes.
func TestTemplatesDoNotLeak(t *testing.T) {
	t.Parallel()

	c := cluster("a", "env=dev")
	c.TemplateValues = map[string]any{"nested": map[string]any{"k": "v"}}
	b := parsed(t, "b", `helm: {values: {a: '${ set .ClusterValues.nested "k" "changed" | len }${ set .ClusterLabels "env" "x" | len }', env: global.fleet.clusterLabels.env}}`)
	before := fingerprint(t, b, c)
	for range 2 {
		result, err := target.Deployments(t.Context(), target.Input{Bundles: []*bundle.Bundle{b}, Rules: everywhere(), Clusters: []target.Cluster{c, cluster("z", "env=prod")}, Evaluator: templates.InProcess{}})
		if err != nil {
			t.Fatal(err)
		}
		if got := result.Deployments[0].Options.Helm.Values["env"]; got != "dev" {
			t.Errorf("env = %v", got)
		}
	}
	if after := fingerprint(t, b, c); before != after {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
}

func fingerprint(t *testing.T, of ...any) string {
	t.Helper()

	data, err := json.Marshal(of)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// States contain the digest, so it must never change for the same content.
func TestDigest(t *testing.T) {
	t.Parallel()

	digest := func(text string, c target.Cluster) string {
		result, err := target.Deployments(t.Context(), target.Input{Bundles: []*bundle.Bundle{parsed(t, "b", text)}, Rules: everywhere(), Clusters: []target.Cluster{c}, Evaluator: templates.InProcess{}})
		if err != nil || len(result.Deployments) != 1 {
			t.Fatal(err, result)
		}
		return result.Deployments[0].Digest
	}
	const text = "defaultNamespace: a\nhelm: {values: {b: 1, c: '${ .ClusterLabels.env }'}}\n"
	const want = "v1-abb5056c61734d97f95b721ec25093c5"
	if got := digest(text, cluster("one", "env=dev")); got != want {
		t.Errorf("Digest = %s, want %s", got, want)
	}
	if got := digest(text, cluster("two", "env=dev", "other=label")); got != want {
		t.Errorf("Digest on another cluster = %s, want %s", got, want)
	}
	elsewhere := "targetCustomizations:\n- clusterSelector: {matchLabels: {env: prod}}\n  namespace: c\n" + text
	if got := digest(elsewhere, cluster("one", "env=dev")); got != want {
		t.Errorf("a customization for another cluster changes the digest to %s", got)
	}
	judged := "correctDrift: {enabled: false}\ndiff: {comparePatches: [{kind: A}]}\nignore: {conditions: [{type: B}]}\n" + text
	if got := digest(judged, cluster("one", "env=dev")); got != want {
		t.Errorf("the way in which live objects are judged changes the digest to %s", got)
	}
	for what, got := range map[string]string{
		"a label that counts": digest(text, cluster("one", "env=prod")),
		"a namespace":         digest("namespace: other\n"+text, cluster("one", "env=dev")),
		"its customization":   digest(elsewhere, cluster("one", "env=prod")),
	} {
		if got == want {
			t.Errorf("%s does not change the digest", what)
		}
	}
}

// What a cluster gets depends neither on the order nor on the other clusters and bundles.
func TestDeploymentsProperties(t *testing.T) {
	t.Parallel()

	in := fleetOf(t, 12, 8)
	all, err := target.Deployments(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	digests := make(map[string]string)
	for _, d := range all.Deployments {
		digests[d.Key()] = d.Digest
	}
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // A shuffle is no secret.
		shuffled := in
		shuffled.Clusters, shuffled.Bundles, shuffled.Groups = slices.Clone(in.Clusters), slices.Clone(in.Bundles), slices.Clone(in.Groups)
		random.Shuffle(len(in.Clusters), func(i, j int) {
			shuffled.Clusters[i], shuffled.Clusters[j] = shuffled.Clusters[j], shuffled.Clusters[i]
		})
		random.Shuffle(len(in.Bundles), func(i, j int) {
			shuffled.Bundles[i], shuffled.Bundles[j] = shuffled.Bundles[j], shuffled.Bundles[i]
		})
		slices.Reverse(shuffled.Groups)
		got, err := target.Deployments(t.Context(), shuffled)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(fingerprint(t, all), fingerprint(t, got)); diff != "" {
			t.Fatalf("seed %d: order changes the result:\n%s", seed, diff)
		}
		few := shuffled
		few.Clusters = shuffled.Clusters[:3]
		if got, err = target.Deployments(t.Context(), few); err != nil {
			t.Fatal(err)
		}
		for _, d := range got.Deployments {
			if d.Digest != digests[d.Key()] {
				t.Fatalf("seed %d: %s depends on other clusters", seed, d.Key())
			}
		}
	}
}

// fleetOf returns a fleet in which every third bundle is templated.
func fleetOf(tb testing.TB, clusters, bundles int) target.Input {
	tb.Helper()

	in := target.Input{
		Evaluator: templates.InProcess{},

		Rules:  []target.Rule{{ClusterGroup: "all"}},
		Groups: []target.Group{{Name: "all"}, {Name: "prod", Selector: *labelled("env", "prod"), Labels: map[string]string{"tier": "prod"}}},
	}
	for i := range clusters {
		c := cluster(fmt.Sprintf("cluster-%04d", i), "env="+[]string{"dev", "test", "prod"}[i%3], fmt.Sprintf("region=r%d", i%7))
		c.TemplateValues = map[string]any{"size": float64(i)}
		in.Clusters = append(in.Clusters, c)
	}
	for i := range bundles {
		text := "defaultNamespace: apps\nhelm:\n  values: {image: {tag: v1, pull: Always}, replicas: 2, list: [a, b, c], limits: {cpu: 1, memory: 2}}\ntargetCustomizations:\n" +
			"- {clusterGroupSelector: {matchLabels: {tier: prod}}, helm: {values: {replicas: 5}}}\n- {clusterSelector: {matchLabels: {env: test}}, helm: {values: {replicas: 1}}}\n"
		if i%3 == 0 {
			text = strings.Replace(text, "replicas: 2", "replicas: 2, cluster: '${ .ClusterName }', region: global.fleet.clusterLabels.region", 1)
		}
		in.Bundles = append(in.Bundles, parsed(tb, fmt.Sprintf("bundle-%02d", i), text))
	}
	return in
}

// retained returns how many bytes the result for an input keeps.
func retained(b *testing.B, in target.Input) float64 {
	b.Helper()
	heap := func() uint64 {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	before := heap()
	result, err := target.Deployments(b.Context(), in)
	if err != nil {
		b.Fatal(err)
	}
	after := heap()
	runtime.KeepAlive(result)
	return float64(after) - float64(before)
}

func BenchmarkDeployments(b *testing.B) {
	for _, size := range []struct{ clusters, bundles int }{{10, 50}, {100, 50}, {1000, 50}} {
		in := fleetOf(b, size.clusters, size.bundles)
		b.Run(fmt.Sprintf("%d", size.clusters*size.bundles), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				result, err := target.Deployments(b.Context(), in)
				if err != nil || len(result.Deployments) != size.clusters*size.bundles {
					b.Fatal(err, len(result.Deployments))
				}
			}
			deployments := float64(size.clusters * size.bundles)
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/deployments, "µs/deployment")
			b.ReportMetric(retained(b, in)/deployments, "retained-B/deployment")
		})
	}
}

// BenchmarkPlainFields measures a bundle whose templates only read fields of the cluster.
func BenchmarkPlainFields(b *testing.B) {
	in := fleetOf(b, 200, 0)
	in.Bundles = []*bundle.Bundle{parsed(b, "bundle", `helm:
  values: {cluster: '${ .ClusterName }', env: '${ .ClusterLabels.env }', image: {tag: v1, pull: Always}, replicas: 2, list: [a, b, c]}
  templateValues: {region: '${ .ClusterLabels.region }'}
`)}
	b.ReportAllocs()
	for b.Loop() {
		result, err := target.Deployments(b.Context(), in)
		if err != nil || len(result.Deployments) != len(in.Clusters) {
			b.Fatal(err, len(result.Deployments))
		}
	}
}

func TestTemplateErrorsNameFileAndExpression(t *testing.T) {
	t.Parallel()

	b := parsed(t, "b", "helm: {values: {region: '${ .ClusterLabels.nowhere }'}}\n")
	b.DefinitionFile = "apps/b/fleet.yaml"
	result, err := target.Deployments(t.Context(), target.Input{Bundles: []*bundle.Bundle{b}, Rules: everywhere(), Clusters: []target.Cluster{cluster("c", "a=b")}, Evaluator: templates.InProcess{}})
	if err != nil || len(result.Failures) != 1 {
		t.Fatal(result, err)
	}
	got := result.Failures[0].Err.Error()
	for _, want := range []string{"helm.values.region of apps/b/fleet.yaml", ".ClusterLabels.nowhere"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q does not say %q", got, want)
		}
	}
}

func TestCheckNamespace(t *testing.T) {
	t.Parallel()
	for name, legal := range map[string]bool{
		"one": true, "1-a": true, strings.Repeat("a", 63): true,
		"": false, "One": false, "a.b": false, "-a": false, "a/b": false, "to-${ .ClusterName }": false, strings.Repeat("a", 64): false,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := target.Deployment{Namespace: name}.CheckNames()
			if refused := err != nil && strings.HasPrefix(err.Error(), "the namespace "); refused == legal || legal && err != nil {
				t.Errorf("CheckNames: %v, legal is %t", err, legal)
			}
		})
	}
}

func TestCheckServiceAccount(t *testing.T) {
	t.Parallel()

	tests := map[string]bool{"": true, "robot": true, "robot.two": true, "kube-system/admin": false, "Robot": false, "${ .ClusterName }": false, strings.Repeat("a", 64): false}
	for name, legal := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := target.Deployment{Namespace: "one", Bundle: &bundle.Bundle{Name: "web"}, Options: fleetyaml.Options{ServiceAccount: name}}.CheckNames()
			if refused := err != nil && strings.Contains(err.Error(), " is not a valid name of a service account"); refused == legal || legal && err != nil {
				t.Errorf("got %v, want it legal: %t", err, legal)
			}
		})
	}
}
