package fleetyaml_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

func TestParse(t *testing.T) {
	t.Parallel()

	yes := true
	tests := map[string]struct {
		text string
		want fleetyaml.Definition
	}{
		"nothing":                  {text: ""},
		"a comment":                {text: "# nothing\n"},
		"an empty map":             {text: "{}"},
		"an empty second document": {text: "name: a\n---\n", want: fleetyaml.Definition{Name: "a"}},
		"options and labels": {
			text: "name: web\nlabels: {app: web, size: \"5\", up: \"true\"}\ndefaultNamespace: shop\ncreateNamespace: on\npaused: y\n",
			want: fleetyaml.Definition{
				Name: "web", Labels: map[string]string{"app": "web", "size": "5", "up": "true"}, Paused: true,
				Options: fleetyaml.Options{DefaultNamespace: "shop", CreateNamespace: &yes},
			},
		},
		"values are YAML 1.1": {
			text: "helm:\n  timeoutSeconds: 1e2\n  values: {n: 0755, \"y\": no, big: 9007199254740993, none: ~}\n",
			want: fleetyaml.Definition{Options: fleetyaml.Options{Helm: &fleetyaml.Helm{
				TimeoutSeconds: 100,
				Values:         map[string]any{"false": 493.0, "y": false, "big": 9007199254740992.0, "none": nil},
			}}},
		},
		"anchors and merge keys": {
			text: "targets:\n- &eu\n  clusterSelector: &prod {matchLabels: {env: prod}}\n  namespace: a\n- <<: *eu\n  namespace: b\n",
			want: fleetyaml.Definition{Targets: []fleetyaml.Customization{
				{Criteria: inProd(), Options: fleetyaml.Options{Namespace: "a"}},
				{Criteria: inProd(), Options: fleetyaml.Options{Namespace: "b"}},
			}},
		},
		"labels that look like something else": {
			text: "targetCustomizations:\n- name: off\n  clusterSelector: {matchLabels: {a: yes, b: 1.10, c: ~}, matchExpressions: [{key: d, operator: In, values: [5, no]}]}\n",
			want: fleetyaml.Definition{TargetCustomizations: []fleetyaml.Customization{{Name: "false", Criteria: fleetyaml.Criteria{ClusterSelector: &fleetyaml.Selector{
				MatchLabels:      map[string]string{"a": "true", "b": "1.1", "c": ""},
				MatchExpressions: []fleetyaml.Requirement{{Key: "d", Operator: "In", Values: []string{"5", "false"}}},
			}}}}},
		},
		"options that do not work yet but ask for nothing": {
			text: "kustomize: {dir: ''}\nkeepResources: no\ndependsOn: []\ncorrectDrift: {enabled: false}\nhelm: {version: ''}\n",
			want: fleetyaml.Definition{Options: fleetyaml.Options{
				Kustomize: &fleetyaml.Kustomize{}, CorrectDrift: &fleetyaml.CorrectDrift{Enabled: new(false)}, Helm: &fleetyaml.Helm{},
			}, DependsOn: []fleetyaml.Dependency{}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			got, notes, err := fleetyaml.Parse("fleet.yaml", []byte(test.text), true)
			if err != nil || len(notes) > 0 {
				t.Fatalf("Parse() = %v, %v", notes, err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("Parse() (-want +got):\n%s", diff)
			}
		})
	}
}

func inProd() fleetyaml.Criteria {
	return fleetyaml.Criteria{ClusterSelector: &fleetyaml.Selector{MatchLabels: map[string]string{"env": "prod"}}}
}

func TestParseProblems(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		text string
		want []string
		kind fleetyaml.Kind
	}{
		"no YAML": {
			text: "name: a\nhelm: [unclosed\n",
			want: []string{"f:2:1: did not find expected ',' or ']'"},
			kind: fleetyaml.Syntax,
		},
		"no map": {
			text: "- a\n",
			want: []string{"f:1:1: this must be a map, not a list"},
			kind: fleetyaml.WrongType,
		},
		"all unknown keys at once": {
			text: "defaultNamepsace: a\nhelm:\n  valueFiles: [b]\n  Chart: c\ntargetCustomizations:\n- clusterLabels: {env: dev}\n",
			want: []string{
				`f:1:1: unknown key "defaultNamepsace"; did you mean "defaultNamespace"?`,
				`f:3:3: unknown key "valueFiles" in helm; did you mean "valuesFiles"?`,
				`f:4:3: unknown key "Chart" in helm; did you mean "chart"?`,
				`f:6:3: unknown key "clusterLabels"`,
			},
			kind: fleetyaml.UnknownKey,
		},
		"options in overrideTargets": {
			text: "overrideTargets:\n- clusterName: a\n  namespace: b\n",
			want: []string{`f:3:3: unknown key "namespace" in overrideTargets`},
			kind: fleetyaml.UnknownKey,
		},
		"wrong types, without the values": {
			text: "name: [a]\nnamespace: n\npaused: 'yes'\nlabels: secret\nhelm:\n  values: secret\n  timeoutSeconds: soon\ntargets: {}\n",
			want: []string{
				"f:1:7: name must be text, not a list",
				"f:2:12: namespace must be text, and without quotes this is a boolean",
				"f:3:9: paused must be true or false, not text",
				"f:4:9: labels must be a map, not text",
				"f:6:11: helm.values must be a map, not text",
				"f:7:19: helm.timeoutSeconds must be a whole number, not text",
				"f:8:10: targets must be a list, not a map",
			},
			kind: fleetyaml.WrongType,
		},
		"a number that is not whole": {
			text: "helm:\n  maxHistory: 1.5\n",
			want: []string{"f:2:15: helm.maxHistory must be a whole number, not a fraction"},
			kind: fleetyaml.WrongType,
		},
		"equal keys, in values too": {
			text: "name: a\nname: b\nhelm:\n  values:\n    list: [{a: 1, a: 2}]\n    y: 1\n    yes: 2\n",
			want: []string{
				`f:2:1: key "name" is defined twice; first on line 1`,
				`f:5:19: key "a" is defined twice; first on line 5`,
				`f:7:5: key "true" is defined twice; first on line 6`,
			},
			kind: fleetyaml.DuplicateKey,
		},
		"a second document": {
			text: "name: a\n---\nname: b\n",
			want: []string{"f:2:1: there is a second document, and Fleet reads only the first; move everything into the first"},
		},
		"an unknown mode": {
			text: "targetCustomizationMode: All\n",
			want: []string{`f:1:26: targetCustomizationMode "All" is neither FirstMatch nor AllMatches`},
		},
		"bad selectors": {
			kind: fleetyaml.BadSelector,
			text: "targets:\n- clusterSelector:\n    matchExpressions: [{key: a, operator: Equals}]\n- clusterGroupSelector: {matchLabels: {a: 'b c'}}\n",
			want: []string{
				`f:3:5: clusterSelector: expression about label "a": operator "Equals" is not one of In, NotIn, Exists, DoesNotExist`,
				`f:4:25: clusterGroupSelector: label "a": values[0][a]: Invalid value: "b c": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
			},
		},
		"image scans": {
			text: "imageScans: [{image: a, tagName: a}]\n",
			want: []string{"f:1:13: imageScans need image_scans = true of the fleet_gitrepo; set it, or remove them"},
			kind: fleetyaml.ImageScansOff,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			_, _, err := fleetyaml.Parse("f", []byte(test.text), true)
			invalid, ok := errors.AsType[*fleetyaml.Error](err)
			if !ok {
				t.Fatalf("Parse() error = %v, want an *Error", err)
			}
			if diff := cmp.Diff(test.want, strings.Split(invalid.Error(), "\n")); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if !invalid.Only(test.kind) {
				t.Errorf("kinds of %+v, want only %d", invalid.Problems, test.kind)
			}
		})
	}
}

func TestParseDependencies(t *testing.T) {
	t.Parallel()

	_, _, err := fleetyaml.Parse("f", []byte("dependsOn:\n- acceptedStates: [Ready]\n- name: a\n  acceptedStates: [Healthy]\n"), true)
	invalid, _ := errors.AsType[*fleetyaml.Error](err)
	if invalid == nil {
		t.Fatalf("Parse() error = %v, want an *Error", err)
	}
	var got []string
	for _, p := range invalid.Problems {
		if p.Kind == fleetyaml.BadDependency {
			got = append(got, p.String())
		}
	}
	want := []string{
		"f:2:3: an entry of dependsOn needs a name or a selector",
		`f:4:20: acceptedStates: "Healthy" is not one of Ready, NotReady, WaitApplied, ErrApplied, OutOfSync, Pending, Modified`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestParseLenient(t *testing.T) {
	t.Parallel()

	text := "colour: red\nHELM: {releaseName: a}\noverrideTargets: []\n"
	got, notes, err := fleetyaml.Parse("f", []byte(text), false)
	if err != nil {
		t.Fatal(err)
	}
	want := fleetyaml.Definition{
		Options:         fleetyaml.Options{Helm: &fleetyaml.Helm{ReleaseName: "a"}},
		OverrideTargets: []fleetyaml.OverrideTarget{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Parse() (-want +got):\n%s", diff)
	}
	var lines []string
	for _, note := range notes {
		lines = append(lines, note.String())
	}
	wantNotes := []string{
		`f:1:1: unknown key "colour" is ignored`,
		`f:2:1: key "HELM" is read as "helm"`,
		`f:3:18: overrideTargets is empty, so only customizations limit the targets of the bundle; without customizations it is deployed to the cluster group "default"`,
	}
	if diff := cmp.Diff(wantNotes, lines); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}

	if _, _, err := fleetyaml.Parse("f", []byte("helm: {}\nHelm: {}\n"), false); err == nil {
		t.Error("Parse() takes two keys that differ in case only")
	}
}

// Keys that only Fleet's controllers use are reported as notes, in strict mode too.
func TestParseWithoutEffect(t *testing.T) {
	t.Parallel()

	text := "downstreamResources: [{kind: Secret, name: a}]\noverwrites: [{name: a}]\nallowedTargetNamespaceSelector: {matchLabels: {a: b}}\ntargets:\n- downstreamResources: [{kind: Secret, name: b}]\n  correctDrift: {keepFailHistory: true}\n"
	def, notes, err := fleetyaml.Parse("f", []byte(text), true)
	if err != nil {
		t.Fatal(err)
	}
	if len(def.DownstreamResources) != 1 {
		t.Errorf("downstreamResources are not read: %+v", def)
	}
	lines := make([]int, len(notes))
	for i, note := range notes {
		lines[i] = note.Line
	}
	if diff := cmp.Diff([]int{1, 2, 3, 5, 6}, lines); diff != "" {
		t.Errorf("lines of %v (-want +got):\n%s", notes, diff)
	}
}

func TestParseAliasBombs(t *testing.T) {
	t.Parallel()

	wide := "helm:\n  values:\n    a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 12; i++ {
		n, m := string(rune('0'+i/10))+string(rune('0'+i%10)), string(rune('0'+(i-1)/10))+string(rune('0'+(i-1)%10))
		if i == 1 {
			m = "0"
		}
		wide += "    a" + n + ": &a" + n + " [" + strings.Repeat("*a"+m+", ", 9) + "*a" + m + "]\n"
	}
	for name, text := range map[string]string{
		"wide":           wide,
		"within itself":  "targets: &a\n- *a\n",
		"values of self": "helm: &a\n  values: *a\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if _, _, err := fleetyaml.Parse("f", []byte(text), true); err == nil {
				t.Error("Parse() succeeds")
			}
		})
	}
}

func TestParseCounts(t *testing.T) {
	t.Parallel()

	text := "rolloutStrategy:\n  maxUnavailable: many\n  maxUnavailablePartitions: 25%\n  autoPartitionSize: '0'\n  partitions:\n  - maxUnavailable: 1\n  - maxUnavailable: some%\n"
	_, _, err := fleetyaml.Parse("f", []byte(text), true)
	invalid, _ := errors.AsType[*fleetyaml.Error](err)
	if invalid == nil {
		t.Fatalf("Parse() error = %v, want an *Error", err)
	}
	var got []string
	for _, p := range invalid.Problems {
		got = append(got, p.String())
	}
	want := []string{
		`f:2:19: maxUnavailable: "many" is neither a number nor a percentage such as 25%`,
		`f:4:22: autoPartitionSize: "0" is neither a number nor a percentage such as 25%`,
		`f:7:21: maxUnavailable: "some%" is neither a number nor a percentage such as 25%`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}
