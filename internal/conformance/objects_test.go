package conformance_test

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kustomize"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker/templates"
)

// kubeVersion is the version for which the recordings were rendered.
const kubeVersion = "v1.25.0"

// compareClusters compares the rendering for each cluster, or its error: layers D and E.
func (c *corpus) compareClusters(t *testing.T, r recording, want recordedBundle, b *bundle.Bundle) []finding {
	t.Helper()

	if (r.Outcome != "ok" && r.Ours.Objects == nil) || r.Ours.Error == "non-hermetic-error" {
		return nil
	}
	result := c.deployments(t, r, b)
	charts := &render.Charts{Sandbox: &templates.Renderer{Kustomize: kustomize.Build}}
	var findings []finding
	for _, d := range result.Deployments {
		if r.Outcome == "ok" && want.Clusters[d.Cluster] == "" {
			continue // The cluster is in no partition, which layer C has compared.
		}
		findings = append(findings, c.compareCluster(t, r, want, charts, d))
	}
	for _, failure := range result.Failures {
		v, detail := judgeClass(want.Clusters[failure.Cluster], failure.Err)
		if v == equal && r.Deviation {
			v = deviates
		}
		findings = append(findings, finding{layerErrors, r.ID + " " + b.Name + " " + failure.Cluster, v, detail})
	}
	return findings
}

func judgeClass(want string, err error) (verdict, string) {
	if class := classOf(err); class != want {
		return wrong, fmt.Sprintf("want %s, got %s: %v", want, class, err)
	}
	return equal, ""
}

func (c *corpus) compareCluster(t *testing.T, r recording, want recordedBundle, charts *render.Charts, d target.Deployment) finding {
	t.Helper()

	f := finding{what: r.ID + " " + want.Name + " " + d.Cluster}
	// Fleet's renderer has no default namespace. On a cluster, the namespace is "default" for both.
	if d.Options.Namespace == "" && d.Options.DefaultNamespace == "" {
		d.Namespace = ""
	}
	objects, hooks, err := charts.Template(t.Context(), d, kubeVersion)
	class := want.Clusters[d.Cluster]
	listed := r.Ours.Objects[want.Name][d.Cluster]
	switch {
	case is[*manifest.IncompleteError](err) && r.ID == "cases__raw-plain":
		// Decided: Fleet leaves out a document that a typo has broken. All other documents are as
		// with Fleet.
		if objects, hooks, err = charts.Template(t.Context(), withoutIncomplete(d), kubeVersion); err != nil {
			t.Fatal(err)
		}
		_, f.detail = c.judgeObjects(t, r, want, d, objects, hooks)
		f.layer, f.verdict = layerErrors, deviates
	case err != nil:
		f.layer = layerErrors
		f.verdict, f.detail = c.judgeRenderError(t, r, want, d, err)
	case listed != nil:
		f.layer = layerObjects
		f.verdict, f.detail = deviates, cmp.Diff(slices.Sorted(slices.Values(listed)), keysOf(t, objects+hooks))
	case says(r.ID, d.Cluster) != nil:
		f.layer, f.verdict = layerObjects, deviates
		if !says(r.ID, d.Cluster)(objects) {
			f.detail = "not as decided:\n" + objects
		}
	case class != "ok":
		f.layer, f.verdict, f.detail = layerErrors, wrong, "want "+class+", but it is rendered"
	default:
		f.layer = layerObjects
		f.verdict, f.detail = c.judgeObjects(t, r, want, d, objects, hooks)
	}
	if f.detail != "" {
		f.verdict = wrong
	}
	return f
}

// withoutIncomplete returns a deployment without the files that have documents which are no
// objects.
func withoutIncomplete(d target.Deployment) target.Deployment {
	complete := *d.Bundle
	complete.Content = "v1-00000000000000000000000000000000" // Renderings are cached by it.
	complete.Files = slices.DeleteFunc(slices.Clone(complete.Files), func(file bundle.File) bool {
		_, err := manifest.ParseFile(file.Content)
		return is[*manifest.IncompleteError](err)
	})
	d.Bundle = &complete
	return d
}

// says returns a check of a rendering that is decided to differ from Fleet's.
func says(id, cluster string) func(manifest string) bool {
	switch {
	case id == "cases__chart-tgz":
		return func(manifest string) bool { return strings.Contains(manifest, "name: never-rendered") }
	case id == "cases__values-basename":
		return func(manifest string) bool {
			return strings.Contains(manifest, `{"default":"from-chart","level":"env"}`)
		}
	case id == "cases__merge-ignored-keys" && cluster == "c-dev":
		return func(manifest string) bool { return !strings.Contains(manifest, "helm.sh/resource-policy") }
	}
	return nil
}

// judgeRenderError compares the errors of rendering.
func (c *corpus) judgeRenderError(t *testing.T, r recording, want recordedBundle, d target.Deployment, err error) (verdict, string) {
	t.Helper()

	class := want.Clusters[d.Cluster]
	switch {
	// On a cluster, Fleet refuses these too. Its offline renderer cannot detect them.
	case is[*render.ClusterScopedError](err) && class == "ok" && c.hasClusterScoped(t, r, want, d.Cluster):
		return equal, ""
	// Decided for an open question: no silent fallback to plain manifests.
	case is[*bundle.NoKustomizationError](err) && r.ID == "cases__kustomize-targets":
		return deviates, ""
	}
	return judgeClass(class, err)
}

func (c *corpus) rendered(t *testing.T, r recording, want recordedBundle, cluster string) []map[string]any {
	t.Helper()
	var objects []map[string]any
	id, folder := r.ID, want.folder()
	if r.Ours.SameAs != "" {
		id = r.Ours.SameAs
		entries, err := os.ReadDir(filepath.Join(c.dir, "expected", id))
		if err != nil || len(entries) != 1 {
			t.Fatalf("%s has not one bundle: %v", id, err)
		}
		folder = entries[0].Name()
	}
	readYAML(t, filepath.Join(c.dir, "expected", id, folder, cluster+".rendered.yaml"), &objects)
	return objects
}

func (c *corpus) hasClusterScoped(t *testing.T, r recording, want recordedBundle, cluster string) bool {
	t.Helper()
	return slices.ContainsFunc(c.rendered(t, r, want, cluster), isClusterScoped)
}

func isClusterScoped(object map[string]any) bool {
	kind, _ := object["kind"].(string)
	return slices.Contains([]string{"Namespace", "CustomResourceDefinition", "PersistentVolume", "StorageClass", "PriorityClass", "IngressClass"}, kind) ||
		strings.HasPrefix(kind, "Cluster")
}

func (c *corpus) judgeObjects(t *testing.T, r recording, want recordedBundle, d target.Deployment, manifest, hooks string) (verdict, string) {
	t.Helper()

	recorded := c.rendered(t, r, want, d.Cluster)
	wantObjects, wantHooks := split(recorded)
	if diff := cmp.Diff(multiset(wantObjects), multiset(parse(t, manifest))); diff != "" {
		return wrong, "objects (-Fleet +ours):\n" + diff
	}
	if diff := cmp.Diff(multiset(wantHooks), multiset(parse(t, hooks))); diff != "" {
		return wrong, "hooks (-Fleet +ours):\n" + diff
	}
	if r.Deviation && r.Ours.Patch[want.Name][d.Cluster] != nil {
		return deviates, ""
	}
	return equal, ""
}

// split separates hooks from other objects.
func split(objects []map[string]any) (ordinary, hooks []map[string]any) {
	for _, object := range objects {
		if _, isHook := metadata(object, "annotations")["helm.sh/hook"]; isHook {
			hooks = append(hooks, object)
			continue
		}
		ordinary = append(ordinary, object)
	}
	return ordinary, hooks
}

func metadata(object map[string]any, field string) map[string]any {
	meta, _ := object["metadata"].(map[string]any)
	value, _ := meta[field].(map[string]any)
	return value
}

func parse(t *testing.T, manifest string) []map[string]any {
	t.Helper()
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(manifest), len(manifest)+1)
	var objects []map[string]any
	for {
		var object map[string]any
		err := decoder.Decode(&object)
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatalf("reading a manifest: %v", err)
		}
		if len(object) > 0 {
			objects = append(objects, object)
		}
	}
}

// multiset returns objects by key; two may have the same key.
func multiset(objects []map[string]any) map[string][]map[string]any {
	set := make(map[string][]map[string]any)
	for _, object := range flatten(objects) {
		clean(object)
		set[key(object)] = append(set[key(object)], object)
	}
	return set
}

func flatten(objects []map[string]any) []map[string]any {
	var flat []map[string]any
	for _, object := range objects {
		items, isList := object["items"].([]any)
		kind, _ := object["kind"].(string)
		if !isList || !strings.HasSuffix(kind, "List") {
			flat = append(flat, object)
			continue
		}
		for _, item := range items {
			if below, ok := item.(map[string]any); ok {
				flat = append(flat, below)
			}
		}
	}
	return flat
}

// generatedVersion matches the version of a chart made of plain manifests, which contains a digest.
var generatedVersion = regexp.MustCompile(`v0\.0\.0\+[0-9A-Za-z-]*`)

// clean removes what Fleet adds for its own use, and empty values.
func clean(object map[string]any) {
	meta, _ := object["metadata"].(map[string]any)
	delete(metadata(object, "labels"), "objectset.rio.cattle.io/hash")
	delete(metadata(object, "annotations"), "objectset.rio.cattle.io/id")
	for _, field := range []string{"labels", "annotations"} {
		if len(metadata(object, field)) == 0 {
			delete(meta, field)
		}
	}
	if len(meta) == 0 {
		delete(object, "metadata")
	}
	if meta["creationTimestamp"] == nil {
		delete(meta, "creationTimestamp")
	}
	if meta["namespace"] == nil || meta["namespace"] == "" || isClusterScoped(object) {
		delete(meta, "namespace")
	}
	if status, ok := object["status"].(map[string]any); ok && len(status) == 0 {
		delete(object, "status")
	}
	walk(object)
}

// walk converts numbers to float64, and makes versions of generated charts equal.
func walk(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Collect(maps.Keys(value)) {
			value[key] = walk(value[key])
		}
	case []any:
		for i := range value {
			value[i] = walk(value[i])
		}
	case int64:
		return float64(value)
	case string:
		if value == kubeVersion { // As .Capabilities.KubeVersion.Version; Helm 4 leaves out the "v".
			return strings.TrimPrefix(kubeVersion, "v")
		}
		return generatedVersion.ReplaceAllString(value, "v0.0.0+")
	}
	return value
}

func key(object map[string]any) string {
	meta, _ := object["metadata"].(map[string]any)
	text := func(value any) string {
		s, _ := value.(string)
		return s
	}
	return strings.Join([]string{text(object["apiVersion"]), text(object["kind"]), text(meta["namespace"]), text(meta["name"])}, "/")
}

func keysOf(t *testing.T, manifest string) []string {
	t.Helper()
	var keys []string
	for _, object := range flatten(parse(t, manifest)) {
		keys = append(keys, key(object))
	}
	slices.Sort(keys)
	return keys
}
