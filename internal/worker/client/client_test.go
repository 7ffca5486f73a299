package client_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kustomize"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker/client"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker/templates"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == worker.Argument {
		worker.Serve(templates.Handlers())
	}
	os.Exit(m.Run())
}

func newClient(t *testing.T) *client.Client {
	t.Helper()
	workers := client.New(30 * time.Second)
	t.Cleanup(func() {
		if err := workers.Close(); err != nil {
			t.Error(err)
		}
	})
	return workers
}

// deployment returns a deployment of a bundle with these files.
func deployment(files map[string]string, change func(*target.Deployment)) target.Deployment {
	b := &bundle.Bundle{Name: "b", Content: fmt.Sprintf("v1-%x", sha256.Sum256(fmt.Append(nil, files)))}
	for name, content := range files {
		b.Files = append(b.Files, bundle.File{Name: name, Content: []byte(content)})
	}
	slices.SortFunc(b.Files, func(x, y bundle.File) int { return strings.Compare(x.Name, y.Name) })
	d := target.Deployment{Cluster: "c", Release: "b", Namespace: "ns", Bundle: b, Digest: "v1-fedcba9876543210fedcba9876543210"}
	if change != nil {
		change(&d)
	}
	return d
}

const chartYAML = "apiVersion: v2\nname: web\nversion: 1.2.3\n"

func configMap(name, data string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: " + name + " }\ndata: { key: " + data + " }\n"
}

// lookup is a cluster with one object of each name.
func lookup(_ context.Context, apiVersion, kind, namespace, name string) (map[string]any, error) {
	object := map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name, "namespace": namespace}, "large": int64(9007199254740993), "whole": float64(1e6)}
	if name == "" {
		return map[string]any{"kind": kind + "List", "items": []any{object}}, nil
	}
	return object, nil
}

// A worker renders the same objects as this process would.
func TestWorkersRenderTheSame(t *testing.T) {
	t.Parallel()
	here, workers := &templates.Renderer{Kustomize: kustomize.Build}, newClient(t)
	values := map[string]any{"whole": float64(1e6), "large": int64(9007199254740993), "text": "x", "no": nil, "list": []any{true, nil, "\xff"}, "map": map[string]any{}}
	tests := map[string]target.Deployment{
		"manifests": deployment(map[string]string{"a.yaml": configMap("a", "x"), "b.yaml": configMap("b", "x")}, nil),
		"a chart": deployment(map[string]string{
			"Chart.yaml": chartYAML, "values.yaml": "number: 1\n", "templates/NOTES.txt": "Revision {{ .Release.Revision }}",
			"templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\ndata:\n  values: {{ toJson .Values | quote }}\n  whole: \"{{ .Values.whole }}\"\n  large: \"{{ .Values.large }}\"\n  version: {{ .Capabilities.KubeVersion.Version }}\n",
			"crds/a.yaml":      "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: { name: a.b }\n",
		}, func(d *target.Deployment) { d.Options.Helm = &fleetyaml.Helm{Values: values} }),
		"a chart with dependencies": deployment(map[string]string{
			"Chart.yaml":                  chartYAML + "dependencies:\n- { name: sub, version: 1.0.0, condition: sub.enabled, import-values: [data] }\n- { name: off, version: 1.0.0, condition: off.enabled }\n",
			"values.yaml":                 "off: { enabled: false }\nratio: 0.5\nbig: 12345678901234567890\n",
			"charts/sub/Chart.yaml":       "apiVersion: v2\nname: sub\nversion: 1.0.0\n",
			"charts/sub/values.yaml":      "exports: { data: { from: sub } }\n",
			"charts/sub/templates/a.yaml": configMap("sub", "'{{ .Values.from }}'"),
			"charts/off/Chart.yaml":       "apiVersion: v2\nname: off\nversion: 1.0.0\n",
			"templates/a.yaml":            configMap("a", "'{{ .Values.from }}'"),
		}, nil),
		"a kustomization": deployment(map[string]string{"kustomization.yaml": "resources: [a.yaml]\nnamePrefix: p-\n", "a.yaml": configMap("a", "x")}, nil),
		"a chart and a kustomization": deployment(map[string]string{
			"Chart.yaml": chartYAML, "templates/a.yaml": configMap("a", "'{{ .Release.Name }}'"), "kustomization.yaml": "namePrefix: p-\n",
		}, nil),
		"one namespace": deployment(map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": configMap("a", "x")}, func(d *target.Deployment) { d.Options.Namespace = "ns" }),
		"lookups": deployment(map[string]string{
			"Chart.yaml":       chartYAML,
			"templates/a.yaml": configMap("a", `{{ lookup "v1" "Pod" "a" "b" | toJson | quote }}`) + "---\n" + configMap("b", `{{ lookup "v1" "Pod" "a" "" | toJson | quote }}`),
		}, nil),
		"a failure": deployment(map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": "{{ fail \"no\" }}"}, nil),
		"no chart":  deployment(map[string]string{"Chart.yaml": "a: ["}, nil),
	}
	text := func(err error) string { return fmt.Sprint(err) }
	for name, d := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, wantErr := here.Plan(t.Context(), d)
			got, err := workers.Plan(t.Context(), d)
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()) + cmp.Diff(text(wantErr), text(err)); diff != "" {
				t.Errorf("plan (-here +worker):\n%s", diff)
			}
			objects, hooks, wantErr := here.Template(t.Context(), d, "v1.36.0")
			gotObjects, gotHooks, err := workers.Template(t.Context(), d, "v1.36.0")
			if diff := cmp.Diff([]string{objects, hooks, text(wantErr)}, []string{gotObjects, gotHooks, text(err)}); diff != "" {
				t.Errorf("template (-here +worker):\n%s", diff)
			}
			for _, upgrade := range []bool{false, true} {
				revision := render.Revision{Capabilities: target.Capabilities{Version: "v1.36.0", Major: "1", Minor: "36", APIs: []string{"v1"}}, Number: 2, Upgrade: upgrade}
				files, wantErr := here.Apply(t.Context(), d, revision, lookup)
				gotFiles, err := workers.Apply(t.Context(), d, revision, lookup)
				if diff := cmp.Diff(files, gotFiles, cmpopts.EquateEmpty()) + cmp.Diff(text(wantErr), text(err)); diff != "" {
					t.Errorf("apply, upgrade %v (-here +worker):\n%s", upgrade, diff)
				}
			}
		})
	}
}

// Lookups are limited in number and size, and a failed lookup is an error of the template.
func TestLookupsAreLimited(t *testing.T) {
	t.Parallel()
	workers := newClient(t)
	tests := map[string]struct {
		template string
		lookup   render.Lookup
		want     string
	}{
		"few":   {template: `{{ range until 100 }}{{ $_ := lookup "v1" "Pod" "a" "b" }}{{ end }}`, lookup: lookup},
		"many":  {template: `{{ range until 101 }}{{ $_ := lookup "v1" "Pod" "a" "b" }}{{ end }}`, lookup: lookup, want: "more than 100 times"},
		"large": {template: `{{ range until 5 }}{{ $_ := lookup "v1" "Pod" "a" "b" }}{{ end }}`, lookup: largeLookup, want: "more than 16 MiB"},
		"fails": {template: `{{ $_ := lookup "v1" "Pod" "a" "b" }}`, lookup: failingLookup, want: "no such kind"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := deployment(map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": configMap("a", "x") + test.template}, nil)
			_, err := workers.Apply(t.Context(), d, render.Revision{Number: 1}, test.lookup)
			if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error = %v, want one with %q", err, test.want)
			}
		})
	}
}

func largeLookup(context.Context, string, string, string, string) (map[string]any, error) {
	return map[string]any{"a": strings.Repeat("x", 4<<20)}, nil
}

func failingLookup(context.Context, string, string, string, string) (map[string]any, error) {
	return nil, errors.New("no such kind")
}

// The templates of values run in a worker too.
func TestEvaluate(t *testing.T) {
	t.Parallel()
	request := target.Templates{
		Sets: []target.TemplateSet{{Templates: []target.Template{{Place: "helm.values", Text: "a: ${ .a | upper } ${ .n }"}}}},
		Contexts: []map[string]any{
			{"a": "x", "n": float64(1e6)}, {"a": "y", "n": int64(9007199254740993)}, {"n": true},
		},
		Runs: []target.TemplateRun{{Context: 0}, {Context: 1}, {Context: 2}},
	}
	got, err := newClient(t).Evaluate(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(templates.EvaluateValues(request), got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("results (-here +worker):\n%s", diff)
	}
}

// Templates that include each other fail with as many nested errors as Helm allows.
func TestErrorsAreShort(t *testing.T) {
	t.Parallel()
	workers := newClient(t)
	_, err := workers.Plan(t.Context(), deployment(map[string]string{
		"Chart.yaml": chartYAML, "templates/a.yaml": `{{- define "a" }}{{ include "a" . }}{{ end }}{{ include "a" . }}`,
	}, nil))
	failed, ok := errors.AsType[*client.RenderError](err)
	if !ok {
		t.Fatalf("error = %v, want a *RenderError", err)
	}
	if text := failed.Text; len(text) > 4<<10 || !strings.HasPrefix(text, "rendering the chart of bundle b") || !strings.HasSuffix(text, "unable to execute template") {
		t.Errorf("the error has %d bytes: %s", len(text), text[:min(len(text), 4<<10)])
	}
}

// Workers get decrypted files and values, and their errors do not contain them. The deployment
// keeps the encrypted ones.
func TestEncrypted(t *testing.T) {
	t.Parallel()

	const word, leaf = "a-secret-value", "ENC[AES256_GCM,data:x,iv:x,tag:x,type:str]"
	secrets := secret.Hide(&bundle.Decrypted{
		Files:  map[string][]byte{"s.yaml": []byte("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {key: " + word + "}\n")},
		Leaves: map[string]any{leaf: word}, Texts: []string{word},
	})
	const encryptedManifest = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {key: ENC[AES256_GCM,data:x]}\nsops: {}\n"
	encrypted := func(d *target.Deployment) {
		d.Bundle.Decrypted, d.Digest = secrets, d.Bundle.Content // Equal digests are rendered once.
		d.Options.Helm = &fleetyaml.Helm{Values: map[string]any{"word": leaf}}
	}
	workers := newClient(t)
	charts := &render.Charts{Sandbox: workers}
	chart := func(template string) target.Deployment {
		return deployment(map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": template}, encrypted)
	}
	tests := map[string]struct {
		d    target.Deployment
		want string
	}{
		"values":    {chart("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {word: {{ .Values.word }}}\n"), "word: " + word},
		"manifests": {deployment(map[string]string{"s.yaml": encryptedManifest}, encrypted), "key: " + word},
		"kustomize": {deployment(map[string]string{"kustomization.yaml": "resources: [s.yaml]\n", "s.yaml": encryptedManifest}, encrypted), "key: " + word},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			objects, _, err := charts.Template(t.Context(), tt.d, "v1.30.0")
			if err != nil || !strings.Contains(objects, tt.want) {
				t.Errorf("rendered %q, error %v, want %q", objects, err, tt.want)
			}
			planned, err := charts.Render(t.Context(), tt.d)
			if err != nil || len(planned.Objects) != 1 {
				t.Fatalf("planned %v, error %v", planned.Objects, err)
			}
			if got, want := planned.Objects[0].Hash, release.ShortHash([]byte(tt.d.Digest)); got != want {
				t.Errorf("the hash of the object is %s, want %s of the deployment", got, want)
			}
			if diff := cmp.Diff(map[string]any{"word": leaf}, tt.d.Options.Helm.Values); diff != "" {
				t.Errorf("values of the deployment (-want +got):\n%s", diff)
			}
		})
	}
	for name, template := range map[string]string{"a failure": "{{ fail .Values.word }}", "no YAML": "a: b: {{ .Values.word }}"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			d := chart(template)
			_, planning := charts.Render(t.Context(), d)
			_, _, templating := charts.Template(t.Context(), d, "v1.30.0")
			_, applying := charts.Chart(t.Context(), d, render.Revision{Number: 1}, nil, nil)
			for _, err := range []error{planning, templating, applying} {
				if err != nil && strings.Contains(err.Error(), word) {
					t.Errorf("the error shows a value: %v", err)
				}
			}
			if planning == nil || templating == nil {
				t.Errorf("errors %v and %v", planning, templating)
			}
		})
	}
}

// A chart with an encrypted file is refused when the chart is loaded.
func TestEncryptedInCharts(t *testing.T) {
	t.Parallel()

	const encrypted = "word: x\nsops: {lastmodified: x, mac: 'ENC[AES256_GCM,x]'}\n"
	d := deployment(map[string]string{"Chart.yaml": chartYAML, "values.yaml": encrypted, "templates/a.yaml": "a: b"}, nil)
	_, err := (&render.Charts{Sandbox: newClient(t)}).Render(t.Context(), d)
	if err == nil || !strings.Contains(err.Error(), "values.yaml is encrypted by sops") {
		t.Errorf("error %v", err)
	}
}

// When failed renderings have used up the time for all of them, no other one begins. Its error is
// the same for all deployments, so that they have one cause.
func TestAttackManyFailures(t *testing.T) {
	t.Parallel()
	workers := client.New(time.Nanosecond)
	t.Cleanup(func() { _ = workers.Close() })
	render := func(name string) error {
		_, err := workers.Plan(t.Context(), deployment(map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": configMap("a", name)}, nil))
		return err
	}
	for i := range 10 {
		if err := render(fmt.Sprint("failing-", i)); !isLimit(err) {
			t.Errorf("rendering %d: %v, want an error of the time limit", i, err)
		}
	}
	want := "not rendered: what failed before took more than 10ns together, the budget for all failures; correct those templates, or raise render_timeout of the provider"
	if diff := cmp.Diff(want, fmt.Sprint(render("last"))); diff != "" {
		t.Errorf("last rendering (-want +got):\n%s", diff)
	}
}

func isLimit(err error) bool {
	exceeded, ok := errors.AsType[*worker.LimitError](err)
	return ok && exceeded.Limit == worker.LimitTime
}
