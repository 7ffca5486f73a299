package client_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

const (
	password = "hunter7correct"
	// inRepository is what the repository has in place of the password.
	inRepository = "ENC[AES256_GCM,data:x,iv:x,tag:x,type:str]"
)

// transformed are forms of the password that no masker finds.
func transformed() []string {
	backwards := []byte(password)
	slices.Reverse(backwards)
	return []string{
		password, strings.ToUpper(password), hex.EncodeToString([]byte(password)), string(backwards), password[:7], password[7:],
		base64.StdEncoding.EncodeToString([]byte(password)), "104 117",
	}
}

// secretInputs are the ways in which a template gets the password, as .Values.password.
func secretInputs() map[string]func(d *target.Deployment) {
	values := func(d *target.Deployment, value string) {
		d.Options.Helm = &fleetyaml.Helm{Values: map[string]any{"password": value}}
	}
	return map[string]func(d *target.Deployment){
		"sops": func(d *target.Deployment) {
			values(d, inRepository)
			d.Bundle.Decrypted = secret.Hide(&bundle.Decrypted{Leaves: map[string]any{inRepository: password}, Texts: []string{password}})
		},
		"values_wo": func(d *target.Deployment) {
			d.WriteOnly = &target.WriteOnly{Content: secret.Hide(target.Content{Values: map[string]any{"password": password}})}
		},
		"valuesFrom": func(d *target.Deployment) { // The provider has read the Secret.
			values(d, password)
			d.Options.Helm.ValuesFrom = []fleetyaml.ValuesFrom{{SecretKeyRef: &fleetyaml.KeyRef{Name: "s"}}}
		},
		"lookup": func(*target.Deployment) {},
	}
}

func lookUpPassword(_ context.Context, apiVersion, kind, _, name string) (map[string]any, error) {
	secret := map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name}, "data": map[string]any{"password": base64.StdEncoding.EncodeToString([]byte(password))}}
	if name == "" {
		delete(secret, "kind") // As in a list.
		return map[string]any{"kind": kind + "List", "items": []any{secret}}, nil
	}
	return secret, nil
}

// chartOf is a chart whose template binds $p to the password.
func chartOf(input, template string) map[string]string {
	get := "{{ $p := .Values.password }}"
	if input == "lookup" {
		get = `{{ $p := "" }}{{ range (lookup "v1" "Secret" "ns" "").items }}{{ $p = b64dec .data.password }}{{ end }}`
	}
	return map[string]string{
		"Chart.yaml": chartYAML, "values.schema.json": `{"properties": {"password": {"maxLength": 100}}}`,
		"templates/_words.tpl":   `{{/* fail "hunter" required "hunter" */}}`,
		"templates/_helpers.tpl": "{{ define \"web.fail\" }}\n{{ fail . }}\n{{ end }}",
		"templates/a.yaml":       configMap("a", "x") + get + "\n" + template,
	}
}

// The author of a template prints a secret that templates get, in a form that no masker finds. An
// error has the place and the function in its stead.
func TestFailuresWithSecretInput(t *testing.T) {
	t.Parallel()
	workers := newClient(t)
	charts := &render.Charts{Sandbox: workers}
	tests := map[string]struct {
		template, want string
		// isPlanned is true if only a plan finds the mistake.
		isPlanned bool
	}{
		"fail, in hexadecimal":             {template: `{{ fail (printf "%x" $p) }}`, want: "web/templates/a.yaml:6:3"},
		"fail, reversed":                   {template: `{{ fail ($p | splitList "" | reverse | join "") }}`, want: "web/templates/a.yaml:6:3"},
		"fail, in upper case":              {template: `{{ fail (upper $p) }}`, want: "web/templates/a.yaml:6:3"},
		"fail, in parts":                   {template: `{{ fail (printf "%s, %s" (substr 0 7 $p) (substr 7 14 $p)) }}`, want: "web/templates/a.yaml:6:3"},
		"fail, as numbers":                 {template: `{{ fail (print (list (index $p 0) (index $p 1))) }}`, want: "web/templates/a.yaml:6:3"},
		"fail, as a place":                 {template: `{{ fail (printf "template: web/templates/a.yaml:%d:%d: x" (index $p 0) (index $p 1)) }}`, want: "web/templates/a.yaml:6:3"},
		"fail with a word of another file": {template: `{{ fail (printf "%s" (substr 0 6 $p)) }}`, want: "web/templates/a.yaml:6:3"},
		"fail with a literal":              {template: `{{ if $p }}{{ fail "set a longer password" }}{{ end }}`, want: "set a longer password"},
		"a helper fails":                   {template: `{{ include "web.fail" (printf "%x" $p) }}`, want: "web/templates/a.yaml:6:3"},
		"required":                         {template: `{{ required (printf "%x" $p) nil }}`, want: "web/templates/a.yaml:6:3"},
		"a function":                       {template: `{{ atoi $p | add1 }}{{ mustRegexMatch (printf "[%x" $p) "x" }}`, want: "web/templates/a.yaml:6:"},
		"a function in a helper":           {template: "{{ define \"web.match\" }}\n{{ mustRegexMatch (printf \"[%s\" .) \"x\" }}\n{{ end }}{{ include \"web.match\" (printf \"%x\" $p) }}", want: "web/templates/a.yaml:7:3, in mustRegexMatch"},
		"a field":                          {template: `{{ (printf "%x" $p).field }}`, want: "web/templates/a.yaml:6:"},
		"an index":                         {template: `{{ index (dict) (printf "%x" $p) "x" }}`, want: "web/templates/a.yaml:6:3, in index"},
		"a text of tpl":                    {template: `{{ tpl (printf "%s{{ fail \"x\" }}" (repeat 104 "\n")) . }}`, want: "web/templates/a.yaml:6:3"},
		"an error of tpl":                  {template: `{{ tpl (printf "{{ %x" $p) . }}`, want: "web/templates/a.yaml:6:3, in tpl"},
		"an unknown template":              {template: `{{ include (printf "%x" $p) . }}`, want: "web/templates/a.yaml:6:3, in include"},
		"no YAML":                          {template: `a: b: {{ printf "%x" $p }}`, want: "web/templates/a.yaml"},
		"no kind":                          {template: "---\n{{ printf \"%x\" $p }}: x\n", want: "web/templates/a.yaml"},
		"another spelling":                 {template: "---\napiVersion: v1\nKind: {{ printf \"%x\" $p }}\nkind: x\nmetadata: {name: x}\n", want: "web/templates/a.yaml"},
		"an object twice":                  {template: strings.Repeat("---\n"+configMap(`{{ printf "x%x" $p }}`, "x"), 2), want: "web/templates/a.yaml", isPlanned: true},
		"a label":                          {template: "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, labels: {\"{{ printf \"%x\" $p }}\": 1}}\n", want: "web/templates/a.yaml", isPlanned: true},
		"a type":                           {template: "---\napiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec: {ports: [{name: x, port: \"{{ printf \"%x\" $p }}\"}]}\n", want: "web/templates/a.yaml", isPlanned: true},
		"a record":                         {template: "---\napiVersion: v1\nkind: Secret\nmetadata: {name: \"sh.helm.release.v1.{{ printf \"%x\" $p }}.v1\"}\n", want: ""},
	}
	for input, set := range secretInputs() {
		for name, test := range tests {
			t.Run(input+"/"+name, func(t *testing.T) {
				t.Parallel()
				d := deployment(chartOf(input, test.template), set)
				d.Digest = d.Bundle.Content // Equal digests are rendered once.
				errs := map[string]error{}
				_, errs["apply"] = charts.Chart(t.Context(), d, render.Revision{Number: 1}, lookUpPassword, nil)
				if input == "sops" {
					_, errs["plan"] = charts.Render(t.Context(), d)
				}
				if d.HasSecretContent() {
					_, _, errs["template"] = charts.Template(t.Context(), d, "v1.36.0")
				}
				for of, err := range errs {
					expectNoSecret(t, of, fmt.Sprint(err))
					if err == nil && (of == "plan" || !test.isPlanned) || err != nil && !strings.Contains(err.Error(), test.want) {
						t.Errorf("%s: the error is %q, want one with %q", of, err, test.want)
					}
				}
			})
		}
	}
}

func expectNoSecret(t *testing.T, what, text string) {
	t.Helper()
	for _, form := range transformed() {
		if strings.Contains(text, form) {
			t.Errorf("%s has %q: %s", what, form, text)
		}
	}
}

// An object whose name is no literal of a template or a file is not named, if templates get a
// secret. A plan then has no objects, and an apply hides the name.
func TestNamesWithSecretInput(t *testing.T) {
	t.Parallel()
	charts := &render.Charts{Sandbox: newClient(t)}
	tests := map[string]struct {
		template string
		// hidden are the names that an apply hides.
		hidden []string
	}{
		"a literal":             {template: "---\n" + configMap("literal", "{{ $p }}")},
		"the release":           {template: "---\n" + configMap("{{ .Release.Name }}", "{{ $p }}")},
		"the release and more":  {template: "---\n" + configMap("{{ .Release.Name }}-{{ .Chart.Name }}-headless", "{{ $p }}")},
		"a prefix":              {template: "---\n" + configMap(`kust-{{ "literal" }}`, "{{ $p }}")},
		"the password":          {template: "---\n" + configMap("{{ $p }}", "x"), hidden: []string{password}},
		"in hexadecimal":        {template: "---\n" + configMap(`{{ printf "%x" $p }}`, "x"), hidden: []string{hex.EncodeToString([]byte(password))}},
		"behind the release":    {template: "---\n" + configMap(`{{ .Release.Name }}-{{ printf "%x" $p }}`, "x"), hidden: []string{"b-" + hex.EncodeToString([]byte(password))}},
		"a part of a literal":   {template: "---\n" + configMap("lit{{ substr 0 3 $p }}", "x"), hidden: []string{"lithun"}},
		"a namespace":           {template: "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: {{ printf \"n%x\" $p }}}\n", hidden: []string{"n" + hex.EncodeToString([]byte(password))}},
		"a kind":                {template: "---\napiVersion: v1\nkind: {{ printf \"K%x\" $p }}\nmetadata: {name: x}\n", hidden: []string{"K" + hex.EncodeToString([]byte(password))}},
		"a hook":                {template: "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ printf \"h%x\" $p }}, annotations: {helm.sh/hook: pre-install}}\n", hidden: []string{"h" + hex.EncodeToString([]byte(password))}},
		"a literal, and others": {template: "---\n" + configMap("literal", "x") + "---\n" + configMap(`{{ upper $p | lower | trunc 7 }}`, "x"), hidden: []string{"hunter7"}},
	}
	for input, set := range secretInputs() {
		for name, test := range tests {
			t.Run(input+"/"+name, func(t *testing.T) {
				t.Parallel()
				d := deployment(chartOf(input, test.template), set)
				d.Digest = d.Bundle.Content // Equal digests are rendered once.
				made, err := charts.Chart(t.Context(), d, render.Revision{Number: 1}, lookUpPassword, nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, name := range test.hidden {
					if !slices.Contains(made.HiddenTexts, name) {
						t.Errorf("the apply hides %q, want %q", made.HiddenTexts, test.hidden)
					}
				}
				if made.HidesNames != (test.hidden != nil) {
					t.Errorf("hides names: %v, want %q", made.HidesNames, test.hidden)
				}
				if input != "sops" {
					return
				}
				planned, err := charts.Render(t.Context(), d)
				if err != nil {
					t.Fatal(err)
				}
				expectNoSecret(t, "the plan", fmt.Sprintf("%+v", planned.Objects)+planned.Irreproducible)
				if planned.NamesVary != (test.hidden != nil) || planned.NamesVary && planned.Objects != nil {
					t.Errorf("the plan has the objects %v, and hides %q", planned.Objects, test.hidden)
				}
			})
		}
	}
}

// Texts that templates make, and that an API server or a policy can quote, are hidden.
func TestTextsWithSecretInput(t *testing.T) {
	t.Parallel()
	charts := &render.Charts{Sandbox: newClient(t)}
	const pod = `---
apiVersion: v{{ printf "%x" $p }}
kind: Pod
metadata: {name: literal, labels: {"{{ printf "%x" $p }}.example.com": x}}
spec: {replicas: {{ add 1234567 (len $p) }}, containers: [{name: x, image: "evil.io/{{ printf "%x" $p }}"}]}
`
	coded := hex.EncodeToString([]byte(password))
	for input, set := range secretInputs() {
		t.Run(input, func(t *testing.T) {
			t.Parallel()
			d := deployment(chartOf(input, pod), set)
			d.Digest = d.Bundle.Content // Equal digests are rendered once.
			made, err := charts.Chart(t.Context(), d, render.Revision{Number: 1}, lookUpPassword, nil)
			if err != nil {
				t.Fatal(err)
			}
			texts := map[string][]string{"apply": made.HiddenTexts}
			if input == "sops" {
				planned, err := charts.Render(t.Context(), d)
				if err != nil {
					t.Fatal(err)
				}
				texts["plan"] = planned.HiddenTexts
			}
			for of, hidden := range texts {
				masker := &mask.Masker{}
				masker.Add(hidden...)
				for _, quoting := range []string{
					`metadata.labels: Invalid value: "` + coded + `.example.com": no label`, `no matches for kind "Pod" in version "v` + coded + `"`,
					"the image evil.io/" + coded + " is not allowed", "1234581 replicas are more than 3",
				} {
					text := masker.Text(quoting)
					expectNoSecret(t, of, text)
					if strings.Contains(text, "1234581") {
						t.Errorf("%s: %s", of, text)
					}
				}
			}
			if made.ReadsForeign != (input == "lookup") {
				t.Errorf("reads an object of others: %t", made.ReadsForeign)
			}
		})
	}
}

// Another bundle can have put a secret into an object of any kind.
func TestLookupOfAnyKindIsSecretInput(t *testing.T) {
	t.Parallel()
	charts := &render.Charts{Sandbox: newClient(t)}
	d := deployment(map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": `{{ fail (lookup "v1" "ConfigMap" "ns" "a").data.key }}`}, nil)
	look := func(context.Context, string, string, string, string) (map[string]any, error) {
		return map[string]any{"data": map[string]any{"key": hex.EncodeToString([]byte(password))}}, nil
	}
	_, err := charts.Chart(t.Context(), d, render.Revision{Number: 1}, look, nil)
	expectNoSecret(t, "apply", fmt.Sprint(err))
}

// A value of a ConfigMap is not secret: errors show it.
func TestFailuresWithoutSecretInput(t *testing.T) {
	t.Parallel()
	charts := &render.Charts{Sandbox: newClient(t)}
	d := deployment(chartOf("valuesFrom", "{{ fail (upper $p) }}"), func(d *target.Deployment) {
		d.Options.Helm = &fleetyaml.Helm{Values: map[string]any{"password": "public"}, ValuesFrom: []fleetyaml.ValuesFrom{{ConfigMapKeyRef: &fleetyaml.KeyRef{Name: "s"}}}}
	})
	if _, err := charts.Chart(t.Context(), d, render.Revision{Number: 1}, lookup, nil); err == nil || !strings.Contains(err.Error(), "PUBLIC") {
		t.Errorf("error %v, want one with the text of fail", err)
	}
}
