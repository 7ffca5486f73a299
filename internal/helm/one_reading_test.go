package helm

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/helm/storage"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// offline is a cluster that serves every kind with a namespace and is never reached.
type offline struct {
	genericclioptions.RESTClientGetter
}

func (offline) ToRESTConfig() (*rest.Config, error) {
	return &rest.Config{Host: "https://127.0.0.1:1"}, nil
}

func (offline) ToRESTMapper() (meta.RESTMapper, error) { return everyKind{}, nil }

type everyKind struct{ meta.RESTMapper }

func (everyKind) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	version := "v1"
	if len(versions) > 0 {
		version = versions[0]
	}
	return &meta.RESTMapping{
		Resource:         schema.GroupVersionResource{Group: kind.Group, Version: version, Resource: strings.ToLower(kind.Kind)},
		GroupVersionKind: kind.WithVersion(version), Scope: meta.RESTScopeNamespace,
	}, nil
}

// quoting is a sandbox whose templates have a fixed output.
type quoting struct {
	render.Sandbox

	files render.Files
}

func (q quoting) Apply(context.Context, target.Deployment, render.Revision, render.Lookup) (render.Files, error) {
	return q.files, nil
}

// Whatever bytes templates, crds/ and release records contain: what Helm's own readers find in the
// text that it gets is what was checked.
func FuzzOneReading(f *testing.F) {
	const (
		object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: ten}\n"
		asJSON = `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}}`
		member = `{apiVersion: v1, kind: Namespace, metadata: {name: victim}}`
		hook   = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {helm.sh/hook: 'pre-install,pre-upgrade'}}\n"
	)
	for _, seed := range []string{
		object, asJSON + "\n" + asJSON, asJSON + asJSON, hook + "items: [" + member + ", null]\n", object + "items: [" + member + ", null]\n",
		object + "items: null\n", object + "Items: [" + member + "]\n", object + "itemſ: [" + member + "]\n", object + "\u212aind: Secret\n",
		object + "Metadata: {name: x}\n", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, Annotations: {helm.sh/hook: pre-install}}\n",
		"\ufeff" + asJSON, object + "---\n\ufeff" + asJSON, object + "\u0085---\u0085" + object, object + "\u0085" + object, object + "...\n" + asJSON,
		object + "--- " + asJSON, object + "\r---\r" + object, "apiVersion: v1\nkind: List\nmetadata: {annotations: {helm.sh/hook: pre-delete}}\nitems: [" + member + "]\n",
		"apiVersion: v1\nkind: List\nitems: [" + asJSON + ", {apiVersion: v1, kind: SecretList, items: [{metadata: {name: c}}]}]\n",
		object + "data: {a: \"x\\n---\\ny: |\\n\", b: \"\\u0085---\\u0085\", c: \"\\ufeff\"}\n", object + "data:\n  a: |+\n    x\n\n\n---\n" + hook,
		"apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Pod, metadata: {name: p, annotations: {helm.sh/hook: test}}}]\n",
		object + "metadata: {name: second}\n", "%YAML 1.1\n---\n" + object, "? apiVersion\n: v1\n? kind\n: ConfigMap\n", "&a\nkind: List\napiVersion: v1\nitems: [*a]\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		if len(content) > 1<<14 {
			return
		}
		checkRendering(t, content)
		checkRecordText(t, string(content))
	})
}

// checkRendering checks a chart whose one template and one file below crds/ have the content.
func checkRendering(t *testing.T, content []byte) {
	t.Helper()
	b := bundle.Bundle{Name: "b", Files: []bundle.File{{Name: "Chart.yaml", Content: []byte("apiVersion: v2\nname: c\nversion: 1.0.0\n")}}}
	d := target.Deployment{Release: "r", Namespace: "ten", Bundle: &b}
	for _, files := range []render.Files{
		{Outputs: map[string]string{"c/templates/a.yaml": string(content)}},
		{CRDs: [][]byte{content}},
	} {
		charts := &render.Charts{Sandbox: quoting{files: files}}
		made, err := charts.Chart(t.Context(), d, render.Revision{Number: 1}, nil, everyKind{})
		if err != nil {
			continue // It is refused, by the plan as well.
		}
		checked := &storage.CheckedDocuments{}
		checked.Add(made.Written)
		compareReadings(t, checked, made.Manifest, made.Objects)
		compareUninstall(t, made.Manifest, made.Objects)
		for _, hook := range made.Hooks {
			compareReadings(t, checked, hook.Manifest, hook.Objects)
		}
		for _, crd := range made.Bare.CRDObjects() {
			objects, err := manifest.ParseAll(content)
			if err != nil {
				t.Fatal(err)
			}
			compareReadings(t, checked, string(crd.File.Data), manifest.Flatten(objects))
		}
		if len(made.Bare.Templates) > 0 {
			t.Errorf("Helm renders %d templates", len(made.Bare.Templates))
		}
	}
}

// checkRecordText checks a record whose manifest and hook have the content.
func checkRecordText(t *testing.T, content string) {
	t.Helper()
	parsed, err := manifest.Parse([]byte(content))
	if err != nil {
		return
	}
	checked, objects := &storage.CheckedDocuments{}, manifest.Flatten(parsed)
	stream := checked.WriteManifest(objects)
	compareReadings(t, checked, stream, objects)
	compareUninstall(t, stream, objects)
	compareReadings(t, checked, checked.RewriteHook(content), objects)
}

// compareReadings compares the objects that Helm's client builds from a text with those that were
// checked.
func compareReadings(t *testing.T, checked *storage.CheckedDocuments, text string, want []*unstructured.Unstructured) {
	t.Helper()
	objects, err := checked.In(text)
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	if len(objects) != len(want) {
		t.Fatalf("%d objects were checked, want %d, of\n%s", len(objects), len(want), text)
	}
	client := &kube.Client{Factory: cmdutil.NewFactory(offline{}), Namespace: "ten", Log: func(string, ...any) {}}
	built, err := client.Build(strings.NewReader(text), false)
	if err != nil {
		return
	}
	if len(built) != len(want) {
		t.Fatalf("Helm's client builds %d objects, want %d, of\n%s", len(built), len(want), text)
	}
	for i, info := range built {
		object := objects[i].DeepCopy()
		if object.GetNamespace() == "" {
			object.SetNamespace("ten") // Every kind has a namespace here.
		}
		if diff := cmp.Diff(asJSON(t, object), asJSON(t, info.Object)); diff != "" {
			t.Fatalf("object %d, as checked (-) and as Helm's client reads it (+):\n%s", i+1, diff)
		}
	}
}

func asJSON(t *testing.T, object any) string {
	t.Helper()
	content, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// compareUninstall compares the objects that Helm finds in the manifest of a record when it removes
// a release: it splits and sorts the manifest, and leaves out hooks.
func compareUninstall(t *testing.T, stream string, want []*unstructured.Unstructured) {
	t.Helper()
	hooks, found, err := releaseutil.SortManifests(releaseutil.SplitManifests(stream), nil, releaseutil.UninstallOrder)
	if err != nil || len(hooks) > 0 || len(found) != len(want) {
		t.Fatalf("error %v; Helm finds %d hooks and %d objects, want %d, in\n%s", err, len(hooks), len(found), len(want), stream)
	}
	var names, wanted []string
	for i, one := range found {
		parsed, err := manifest.Parse([]byte(one.Content))
		if err != nil || len(parsed) != 1 {
			t.Fatalf("error %v, %d objects in\n%s", err, len(parsed), one.Content)
		}
		names = append(names, manifest.Identify(manifest.Flatten(parsed)[0], "ten").Key())
		wanted = append(wanted, manifest.Identify(want[i], "ten").Key())
	}
	slices.Sort(names)
	slices.Sort(wanted)
	if !slices.Equal(names, wanted) {
		t.Fatalf("Helm finds %v, want %v", names, wanted)
	}
}
