package templates_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kustomize"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker/templates"
)

// newCharts renders in this process.
func newCharts() *render.Charts {
	return &render.Charts{Sandbox: &templates.Renderer{Kustomize: kustomize.Build}}
}

const chartYAML = "apiVersion: v2\nname: web\nversion: 1.2.3\n"

// deployment makes a deployment of files. Each call makes a new bundle.
func deployment(files map[string]string, change func(*target.Deployment)) target.Deployment {
	b := &bundle.Bundle{Name: "b", Content: "v1-0123456789abcdef0123456789abcdef"}
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

func configMap(name, data string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\ndata:\n  key: " + data + "\n"
}

type renderTest struct {
	deployment target.Deployment
	chart      string
	version    string
	want       []string
}

func TestRenderObjects(t *testing.T) {
	t.Parallel()
	tests := map[string]renderTest{
		"chart at the root": {
			deployment: deployment(map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": configMap("{{ .Release.Name }}-a", "x")}, nil),
			chart:      "web", version: "1.2.3", want: []string{"ConfigMap/ns/b-a"},
		},
		"chart in a folder, the rest ignored": {
			deployment: deployment(map[string]string{
				"charts/web/Chart.yaml": chartYAML, "charts/web/templates/a.yaml": configMap("a", "x"), "other.yaml": configMap("other", "x"),
			}, func(d *target.Deployment) { d.Options.Helm = &fleetyaml.Helm{Chart: "charts/web"} }),
			chart: "web", version: "1.2.3", want: []string{"ConfigMap/ns/a"},
		},
		"raw manifests": {
			deployment: deployment(map[string]string{
				"a.yaml":          configMap("a", "'{{ not a template }}'") + "---\n# empty\n---\n" + configMap("a2", "z"),
				"sub/b.yml":       "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: role\n",
				"c.json":          `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"made"}}`,
				"notes.txt":       "no manifest",
				"own/fleet.yaml":  "name: own\n",
				"own/x.yaml":      configMap("nested", "x"),
				"templates/t.yml": configMap("{{ .Release.Namespace }}-t", "z"),
			}, nil),
			chart: "b", version: "v0.0.0+0123456789ab",
			want: []string{"ConfigMap/ns/a", "ConfigMap/ns/a2", "ConfigMap/ns/ns-t", "Namespace/made", "ClusterRole.rbac.authorization.k8s.io/role"},
		},
		"a list, and a list in it": {
			deployment: deployment(map[string]string{"a.yaml": "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ServiceAccount, metadata: {name: one}}\n" +
				"- {apiVersion: v1, kind: ConfigMapList, items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: two}}]}\n"}, nil),
			chart: "b", version: "v0.0.0+0123456789ab", want: []string{"ConfigMap/ns/two", "ServiceAccount/ns/one"},
		},
		"forced namespace": {
			deployment: deployment(map[string]string{"a.yaml": strings.Replace(configMap("a", "x"), "  name: a", "  name: a\n  namespace: elsewhere", 1)},
				func(d *target.Deployment) { d.Options.Namespace = "ns" }),
			chart: "b", version: "v0.0.0+0123456789ab", want: []string{"ConfigMap/ns/a"},
		},
		"own namespace": {
			deployment: deployment(map[string]string{"a.yaml": strings.Replace(configMap("a", "x"), "  name: a", "  name: a\n  namespace: elsewhere", 1)}, nil),
			chart:      "b", version: "v0.0.0+0123456789ab", want: []string{"ConfigMap/elsewhere/a"},
		},
	}
	tests["kustomization alone"] = renderTest{
		deployment: deployment(map[string]string{
			"kustomization.yaml": "namePrefix: eu-\nresources: [a.yaml]\n", "a.yaml": configMap("a", "'{{ not a template }}'"), "other.yaml": configMap("other", "x"),
		}, nil),
		chart: "b", version: "v0.0.0+0123456789ab", want: []string{"ConfigMap/ns/eu-a"},
	}
	tests["kustomization of a chart"] = renderTest{
		deployment: deployment(map[string]string{
			"Chart.yaml": chartYAML, "templates/a.yaml": configMap("{{ .Release.Name }}-a", "x"),
			"eu/kustomization.yaml": "namePrefix: eu-\nresources: [more.yaml]\n", "eu/more.yaml": configMap("more", "x"),
		}, func(d *target.Deployment) { d.Options.Kustomize = &fleetyaml.Kustomize{Dir: "eu"} }),
		chart: "web", version: "1.2.3", want: []string{"ConfigMap/ns/eu-b-a", "ConfigMap/ns/eu-more"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			charts := newCharts()
			rendering, err := charts.Render(t.Context(), test.deployment)
			if err != nil {
				t.Fatal(err)
			}
			keys := map[string]bool{}
			for key, hash := range rendering.Hashes() {
				keys[key] = len(hash) == 12
			}
			want := map[string]bool{}
			for _, key := range test.want {
				want[key] = true
			}
			if diff := cmp.Diff(want, keys); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
			if rendering.Chart != test.chart || rendering.Version != test.version {
				t.Errorf("chart %s %s, want %s %s", rendering.Chart, rendering.Version, test.chart, test.version)
			}
			if rendering.Irreproducible != "" {
				t.Errorf("irreproducible: %s", rendering.Irreproducible)
			}
		})
	}
}

func TestRenderErrors(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		deployment target.Deployment
		want       string
	}{
		"template": {
			deployment: deployment(map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": `{{ fail "no good" }}`}, nil),
			want:       "no good",
		},
		"chart folder without a chart": {
			deployment: deployment(map[string]string{"a.yaml": "a: b"}, func(d *target.Deployment) { d.Options.Helm = &fleetyaml.Helm{Chart: "nowhere"} }),
			want:       "nowhere",
		},
		"raw file that is no YAML": {
			deployment: deployment(map[string]string{"bad.yaml": "a: [b"}, nil),
			want:       "bad.yaml",
		},
		"raw document without a kind": {
			deployment: deployment(map[string]string{"a.yaml": configMap("a", "x") + "---\napiVersion: v1\nknid: ConfigMap\n"}, nil),
			want:       "a.yaml: line 8: the document has no kind; if the file is not a manifest, exclude it with a .fleetignore",
		},
		"rendered document without a version": {
			deployment: deployment(map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": "{{ if true }}apiverson: v1\nkind: ConfigMap\n{{ end }}"}, nil),
			want:       "web/templates/a.yaml: a rendered document has no apiVersion",
		},
		"definition without a kind": {
			deployment: deployment(map[string]string{"Chart.yaml": chartYAML, "crds/a.yaml": "apiVersion: apiextensions.k8s.io/v1\nknd: CustomResourceDefinition\n"}, nil),
			want:       "crds/a.yaml: line 1: the document has no kind",
		},
		"helpers of plain manifests": {
			deployment: deployment(map[string]string{"templates/a.yaml": `{{ include "x" . }}`, "templates/_h.tpl": `{{ define "x" }}{{ end }}`}, nil),
			want:       "(templates/_h.tpl is not read: without a Chart.yaml",
		},
		"definition that is no YAML": {
			deployment: deployment(map[string]string{"Chart.yaml": chartYAML, "crds/a.yaml": "apiVersion: [\n"}, nil),
			want:       "bundle b: web/crds/a.yaml: document 1: ",
		},
		"definition without a name": {
			deployment: deployment(map[string]string{"Chart.yaml": chartYAML, "crds/a.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {title: a}\n"}, nil),
			want:       "bundle b: web/crds/a.yaml: a CustomResourceDefinition has no name",
		},
		"definition of a subchart without a name": {
			deployment: deployment(map[string]string{
				"Chart.yaml": chartYAML, "charts/sub/Chart.yaml": strings.Replace(chartYAML, "web", "sub", 1), "charts/sub/crds/a.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n",
			}, nil),
			want: "bundle b: web/charts/sub/crds/a.yaml: a CustomResourceDefinition has no name",
		},
		"overlay patch without its file": {
			deployment: deployment(map[string]string{"overlays/o/x_patch.yaml": "a: b"}, func(d *target.Deployment) { d.Options.YAML = &fleetyaml.YAML{Overlays: []string{"o"}} }),
			want:       "overlays/o/x_patch.yaml changes x.yaml",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := newCharts().Render(t.Context(), test.deployment)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v does not say %q", err, test.want)
			}
		})
	}
}

func TestRenderRefusesClusterScopedInForcedNamespace(t *testing.T) {
	t.Parallel()
	d := deployment(map[string]string{"ns.yaml": "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: other\n"},
		func(d *target.Deployment) { d.Options.Namespace = "ns" })
	_, err := newCharts().Render(t.Context(), d)
	var refused *render.ClusterScopedError
	if !errors.As(err, &refused) {
		t.Fatalf("got %v, want a ClusterScopedError", err)
	}
	if diff := cmp.Diff(render.ClusterScopedError{Kind: "Namespace", Name: "other", Namespace: "ns", Spelling: fleetyaml.AsHCL}, *refused); diff != "" {
		t.Error(diff)
	}
}

func TestOverlays(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"web.yaml":                        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: 1\n  template:\n    spec:\n      containers:\n      - name: a\n        image: one\n      - name: b\n        image: two\n",
		"cm.yaml":                         configMap("cm", "base"),
		"overlays/scale/web_patch.yaml":   "spec:\n  replicas: 3\n  template:\n    spec:\n      containers:\n      - name: b\n        image: three\n",
		"overlays/replace/cm.yaml":        configMap("cm", "replaced"),
		"overlays/list/web_patch.yaml":    "- op: remove\n  path: /spec/replicas\n",
		"overlays/add/extra.yaml":         configMap("extra", "x"),
		"overlays/custom/thing.yaml":      "apiVersion: example.com/v1\nkind: Thing\nmetadata:\n  name: t\nspec:\n  list: [1, 2]\n",
		"overlays/merge/thing_patch.yaml": "spec:\n  list: [3]\n",
	}
	tests := map[string]struct {
		overlays []string
		like     map[string]string
	}{
		"none":             {like: map[string]string{"web.yaml": files["web.yaml"], "cm.yaml": files["cm.yaml"]}},
		"no such folder":   {overlays: []string{"nothing"}, like: map[string]string{"web.yaml": files["web.yaml"], "cm.yaml": files["cm.yaml"]}},
		"replace and add":  {overlays: []string{"replace", "add"}, like: map[string]string{"web.yaml": files["web.yaml"], "cm.yaml": configMap("cm", "replaced"), "e.yaml": configMap("extra", "x")}},
		"strategic merge":  {overlays: []string{"scale"}, like: map[string]string{"web.yaml": strings.NewReplacer("replicas: 1", "replicas: 3", "image: two", "image: three").Replace(files["web.yaml"]), "cm.yaml": files["cm.yaml"]}},
		"JSON patch":       {overlays: []string{"list"}, like: map[string]string{"web.yaml": strings.Replace(files["web.yaml"], "  replicas: 1\n", "", 1), "cm.yaml": files["cm.yaml"]}},
		"JSON merge patch": {overlays: []string{"custom", "merge"}, like: map[string]string{"web.yaml": files["web.yaml"], "cm.yaml": files["cm.yaml"], "t.yaml": strings.Replace(files["overlays/custom/thing.yaml"], "[1, 2]", "[3]", 1)}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := newCharts().Render(t.Context(), deployment(files, func(d *target.Deployment) { d.Options.YAML = &fleetyaml.YAML{Overlays: test.overlays} }))
			if err != nil {
				t.Fatal(err)
			}
			want, err := newCharts().Render(t.Context(), deployment(test.like, nil))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.Hashes(), got.Hashes()); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSecretsShowNoContentHash(t *testing.T) {
	t.Parallel()
	secret := func(value string) map[string]string {
		return map[string]string{"s.yaml": "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\nstringData:\n  key: " + value + "\n"}
	}
	one, err := newCharts().Render(t.Context(), deployment(secret("one"), nil))
	if err != nil {
		t.Fatal(err)
	}
	two, err := newCharts().Render(t.Context(), deployment(secret("two"), nil))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(one.Hashes(), two.Hashes()); diff != "" {
		t.Errorf("the hash of a secret tells its content:\n%s", diff)
	}
}

// Helm removes disabled subcharts from the chart that it renders. If two deployments shared a
// chart, the first would determine the subcharts of the second.
func TestDeploymentsShareNoChart(t *testing.T) {
	t.Parallel()
	charts := newCharts()
	files := map[string]string{
		"Chart.yaml":                   chartYAML + "dependencies:\n- name: sub\n  version: 1.0.0\n  condition: sub.enabled\n",
		"charts/sub/Chart.yaml":        "apiVersion: v2\nname: sub\nversion: 1.0.0\n",
		"charts/sub/templates/cm.yaml": configMap("sub", "x"),
		"templates/cm.yaml":            configMap("main", "x"),
	}
	shared := deployment(files, nil).Bundle
	var running sync.WaitGroup
	for i := range 20 {
		running.Go(func() {
			enabled := i%2 == 0
			rendering, err := charts.Render(t.Context(), target.Deployment{
				Cluster: "c", Release: "b", Namespace: "ns", Bundle: shared,
				Options: fleetyaml.Options{Helm: &fleetyaml.Helm{Values: map[string]any{"sub": map[string]any{"enabled": enabled}}}},
			})
			if err != nil {
				t.Error(err)
				return
			}
			if _, got := rendering.Hashes()["ConfigMap/ns/sub"]; got != enabled {
				t.Errorf("subchart rendered: %t, enabled: %t", got, enabled)
			}
		})
	}
	running.Wait()
}

func TestLargeNumbersStayWhole(t *testing.T) {
	t.Parallel()
	one, err := newCharts().Render(t.Context(), deployment(map[string]string{"a.yaml": "apiVersion: example.com/v1\nkind: T\nmetadata:\n  name: t\nspec: {n: 9007199254740993}\n"}, nil))
	if err != nil {
		t.Fatal(err)
	}
	two, err := newCharts().Render(t.Context(), deployment(map[string]string{"a.yaml": "apiVersion: example.com/v1\nkind: T\nmetadata:\n  name: t\nspec: {n: 9007199254740992}\n"}, nil))
	if err != nil {
		t.Fatal(err)
	}
	if one.Hashes()["T.example.com/ns/t"] == two.Hashes()["T.example.com/ns/t"] {
		t.Error("two numbers beyond 2^53 became one")
	}
}

// Fleet changes hooks like all other objects, which Helm's own post-renderer
// cannot.
func TestTemplateChangesHooks(t *testing.T) {
	t.Parallel()
	hook := func(name string) string {
		return strings.Replace(configMap(name, "x"), "  name: "+name, "  name: "+name+"\n  annotations:\n    helm.sh/hook: pre-install", 1)
	}
	tests := map[string]struct {
		files  map[string]string
		change func(*target.Deployment)
		want   string
	}{
		"moved into the namespace of the bundle": {
			files:  map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": hook("a")},
			change: func(d *target.Deployment) { d.Options.Namespace = "ns" },
			want:   "  name: a\n  namespace: ns\n",
		},
		"of plain manifests": {
			files: map[string]string{"a.yaml": hook("a")},
			want:  "  name: a\n",
		},
		"kustomized": {
			files: map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": hook("a"), "kustomization.yaml": "namePrefix: eu-\n"},
			want:  "  name: eu-a\n",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			charts := newCharts()
			manifest, hooks, err := charts.Template(t.Context(), deployment(test.files, test.change), "v1.36.0")
			if err != nil {
				t.Fatal(err)
			}
			if manifest != "" {
				t.Errorf("manifest holds %s", manifest)
			}
			want := "---\napiVersion: v1\ndata:\n  key: x\nkind: ConfigMap\nmetadata:\n  annotations:\n    helm.sh/hook: pre-install\n" + test.want
			if diff := cmp.Diff(want, hooks); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTemplateErrors(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		files   map[string]string
		release string
		is      func(error) bool
	}{
		"template":     {map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": `{{ fail "no" }}`}, "b", is[*render.TemplateError]},
		"schema":       {map[string]string{"Chart.yaml": chartYAML, "values.schema.json": `{"required":["image"]}`}, "b", is[*render.SchemaError]},
		"kube version": {map[string]string{"Chart.yaml": chartYAML + "kubeVersion: '>=1.99.0'\n"}, "b", is[*render.KubeVersionError]},
		"release name": {map[string]string{"a.yaml": configMap("a", "x")}, "Not_A_Name", func(err error) bool {
			return err != nil && strings.HasPrefix(err.Error(), `bundle b: release name "Not_A_Name": `)
		}},
		"chart":    {map[string]string{"Chart.yaml": "apiVersion: v9\n"}, "b", is[*render.ChartError]},
		"output":   {map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": "a: [b\n"}, "b", is[*render.ManifestError]},
		"manifest": {map[string]string{"a.yaml": "a: [b\n"}, "b", is[*render.ManifestError]},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := deployment(test.files, func(d *target.Deployment) { d.Release = test.release })
			if _, _, err := newCharts().Template(t.Context(), d, "v1.36.0"); !test.is(err) {
				t.Errorf("error %T %v", err, err)
			}
		})
	}
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func TestCustomResourceDefinitionsAreKept(t *testing.T) {
	t.Parallel()
	crd := map[string]string{"crd.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: a.example.com\n"}
	for _, remove := range []bool{false, true} {
		d := deployment(crd, func(d *target.Deployment) { d.Options.DeleteCRDResources = remove })
		manifest, _, err := newCharts().Template(t.Context(), d, "v1.36.0")
		if err != nil {
			t.Fatal(err)
		}
		if kept := strings.Contains(manifest, "helm.sh/resource-policy: keep"); kept == remove {
			t.Errorf("deleteCRDResources %t, kept %t", remove, kept)
		}
	}
}
