package fleet

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

func testCluster(name, env string) target.Cluster {
	made := target.NewCluster(name)
	made.Labels = map[string]string{"env": env}
	return made
}

// composed returns the spec of the Bundle of a bundle on clusters dev and prod.
func composed(t *testing.T, fleetYAML string, contents map[string]string) map[string]any {
	t.Helper()
	b := newBundle(t, "web", fleetYAML, contents)
	made := content{specification: newSpecification(b, "owner"), entries: map[string]entry{}}
	for _, d := range deploymentsFor(t, []*bundle.Bundle{b}, []target.Cluster{testCluster("dev", "dev"), testCluster("prod", "prod")}) {
		translated, err := newEntry(d)
		if err != nil {
			t.Fatal(err)
		}
		made.entries[d.Cluster] = translated
	}
	spec, err := made.compose()
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func TestCompose(t *testing.T) {
	t.Parallel()
	spec := composed(t, `
defaultNamespace: shop
helm:
  timeoutSeconds: 60
  valuesFiles: [more.yaml]
  values: {env: "${ .ClusterLabels.env }", replicas: 1, image: {tag: a}}
dependsOn: [{name: db}, {selector: {matchLabels: {tier: base}}, acceptedStates: [Ready, Modified]}]
rolloutStrategy: {maxUnavailable: 10%}
targetCustomizations:
- {clusterSelector: {matchLabels: {env: prod}}, helm: {values: {image: {tag: b}}, force: true}, serviceAccount: deployer}
`, map[string]string{"a.yaml": "kind: ConfigMap\n", "more.yaml": "extra: 1\n"})
	delete(spec, "resources")
	var want map[string]any
	err := json.Unmarshal([]byte(`{
  "correctDrift": {"enabled": true}, "defaultNamespace": "shop", "targetCustomizationMode": "FirstMatch",
  "dependsOn": [
    {"selector": {"matchLabels": {"agentless-fleet.github.io/bundle": "db", "agentless-fleet.github.io/owner": "owner"}}},
    {"selector": {"matchLabels": {"agentless-fleet.github.io/owner": "owner", "tier": "base"}}, "acceptedStates": ["Ready", "Modified"]}
  ],
  "rolloutStrategy": {"maxUnavailable": "10%"},
  "helm": {"disablePreProcess": true, "releaseName": "web", "values": {"replicas": 1, "extra": 1}},
  "targets": [
    {"name": "cluster.dev", "clusterName": "dev", "helm": {"values": {"env": "dev", "image": {"tag": "a"}}}},
    {"name": "cluster.prod", "clusterName": "prod", "serviceAccount": "deployer", "helm": {"force": true, "values": {"env": "prod", "image": {"tag": "b"}}}}
  ]
}`), &want)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, spec); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
}

// An option that Fleet has once for all clusters must not differ.
func TestComposeRefusesDifferentOptions(t *testing.T) {
	t.Parallel()
	for _, option := range notPerCluster {
		made := content{entries: map[string]entry{}}
		for i, cluster := range []string{"a", "b"} {
			var p optionPath
			copy(p[:], strings.Split(option, "."))
			made.entries[cluster] = entry{options: unflatten(map[optionPath]any{p: float64(i + 1)})}
		}
		_, err := made.compose()
		if want := option + " differs between clusters a and b"; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s differs: got %v, want %q", option, err, want)
		}
	}
}

// mergeFleet merges options as Fleet does, for the options of compose (Fleet:
// internal/cmd/controller/options/calculate.go, Merge).
func mergeFleet(root, own map[string]any) map[string]any {
	merged := map[string]any{}
	for _, of := range []map[string]any{root, own} {
		for key, value := range of {
			below, isMap := merged[key].(map[string]any)
			if over, both := value.(map[string]any); isMap && both && (key == "helm" || key == "values") {
				merged[key] = mergeFleet(below, over)
				continue
			}
			merged[key] = value
		}
	}
	return merged
}

// Fleet's merge returns the resolved options of each cluster, and decompose reads the same options
// back.
func TestComposeRoundTrip(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test that can be repeated
	for range 500 {
		made := content{specification: specification{TargetCustomizationMode: fleetyaml.FirstMatch}, entries: map[string]entry{}}
		for i := range 1 + random.IntN(4) {
			helm, values := map[string]any{"releaseName": "web"}, map[string]any{}
			for _, key := range []string{"a", "b", "", "helm", "values"} {
				if random.IntN(2) == 0 {
					values[key] = []any{float64(random.IntN(2)), nil, map[string]any{"x": float64(random.IntN(2))}, "t"}[random.IntN(4)]
				}
			}
			if len(values) > 0 {
				helm["values"] = values
			}
			if random.IntN(2) == 0 {
				helm["force"] = true
			}
			options := map[string]any{"helm": helm}
			if random.IntN(2) == 0 {
				options["kustomize"] = map[string]any{"dir": fmt.Sprint(random.IntN(2))}
			}
			cluster := fmt.Sprintf("c%d", i)
			made.entries[cluster] = entry{options: options, digest: "v1-" + cluster}
		}
		spec, err := made.compose()
		if err != nil {
			t.Fatal(err)
		}
		spec, err = asJSON(spec)
		if err != nil {
			t.Fatal(err)
		}
		root := map[string]any{}
		for _, key := range []string{"helm", "kustomize"} {
			if value, ok := spec[key]; ok {
				root[key] = value
			}
		}
		for _, of := range spec["targets"].([]any) { //nolint:forcetypeassert // compose makes it
			own, _ := of.(map[string]any)
			cluster, _ := own["clusterName"].(string)
			delete(own, "name")
			delete(own, "clusterName")
			want := mergeFleet(map[string]any{"helm": map[string]any{"values": map[string]any{}}}, made.entries[cluster].options)
			if diff := cmp.Diff(want, mergeFleet(root, own)); diff != "" {
				t.Fatalf("merged options of %s (-want +got):\n%s", cluster, diff)
			}
			own["clusterName"] = cluster
		}
		read, err := decompose(spec, deploymentsOf(map[string]string{annotationDeployments: deploymentsText(made.entries)}))
		if err != nil {
			t.Fatal(err)
		}
		again, err := read.compose()
		if err != nil {
			t.Fatal(err)
		}
		for _, of := range spec["targets"].([]any) { //nolint:forcetypeassert // compose makes it
			own, _ := of.(map[string]any)
			cluster, _ := own["clusterName"].(string)
			own["name"] = targetName(cluster)
		}
		if diff := cmp.Diff(spec, again); diff != "" {
			t.Fatalf("what was read is written in another way (-want +got):\n%s", diff)
		}
	}
}

func TestNameOf(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, length := range []int{1, 42, 43, 53, 54, 63, 64, 253} {
		for _, owner := range []string{"a", "b"} {
			for _, instance := range []string{"i", "j"} {
				bundle := strings.Repeat("n", length)
				name := nameOf(owner, instance, bundle)
				if len(name) > maxName || !dnsName.MatchString(name) {
					t.Errorf("%d characters: %q is no name for a label", length, name)
				}
				of := fmt.Sprint(owner, instance, length)
				if other := seen[name]; other != "" {
					t.Errorf("%s and %s have the name %s", of, other, name)
				}
				seen[name] = of
			}
		}
	}
	for _, odd := range []string{"Upper", "a..b", "-x", "a_b", "ö"} {
		if name := nameOf("o", "i", odd); !dnsName.MatchString(name) {
			t.Errorf("%q: %q is no name", odd, name)
		}
	}
}

func TestResources(t *testing.T) {
	t.Parallel()
	names := func(contents map[string]string) []string {
		var found []string
		for _, of := range resourcesOf(newBundle(t, "web", "", contents)) {
			found = append(found, of.Name)
		}
		return found
	}
	tests := map[string]struct {
		files map[string]string
		want  []string
	}{
		"plain":         {files: map[string]string{"a.yaml": "a: 1\n"}, want: []string{"a.yaml", "gone/Chart.yaml"}},
		"kustomization": {files: map[string]string{"kustomization.yaml": "resources: []\n"}, want: []string{"kustomization.yaml", "gone/Chart.yaml", "gone/kustomization.yaml"}},
		"own folder":    {files: map[string]string{"gone/a.yaml": "a: 1\n"}, want: []string{"gone/a.yaml", "gone-1/Chart.yaml"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, names(test.files)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			folder, isKustomized, found := findEmptyFolder(resourcesOf(newBundle(t, "web", "", test.files)))
			if !found || isKustomized != (name == "kustomization") || folder+"/Chart.yaml" != test.want[1] {
				t.Errorf("the empty chart is found in %q, %t, %t", folder, isKustomized, found)
			}
		})
	}
	long := resourceOf(bundle.File{Name: "a", Content: []byte(strings.Repeat("text\n", 10_000))})
	if long.Encoding != compressed || len(long.Content) > 1000 {
		t.Errorf("a long text has encoding %q and %d bytes", long.Encoding, len(long.Content))
	}
	if binary := resourceOf(bundle.File{Name: "a", Content: []byte{0xff}}); binary.Encoding != compressed {
		t.Errorf("a file that is no text has encoding %q", binary.Encoding)
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	random := make([]byte, 1_600_000)
	source := rand.NewChaCha8([32]byte{})
	_, _ = source.Read(random) // Read does not fail.
	b := newBundle(t, "web", "", map[string]string{"a.yaml": "a: 1\n", "noise.bin": string(random)})
	broken := CheckBundles("owner", deploymentsFor(t, []*bundle.Bundle{b}, []target.Cluster{testCluster("dev", "dev")}))
	for _, err := range broken {
		const want = "bundle web: the files, compressed, and the options of all clusters take %d bytes, and a Bundle of Fleet can have"
		var size int
		if _, failed := fmt.Sscanf(err.Error(), want, &size); failed != nil || size < len(random) {
			t.Errorf("got %v, want %q with the size", err, want)
		}
	}
	if len(broken) != 1 {
		t.Errorf("got %v, want one deployment that is broken", broken)
	}
}

// Texts of a Terraform configuration can be sensitive, so they are not in a Bundle.
func TestValuesOfHCL(t *testing.T) {
	t.Parallel()
	b := newBundle(t, "web", "helm: {values: {password: hunter2}}\n", map[string]string{"a.yaml": "a: 1\n"})
	b.HCL.Texts = bundle.TextsOf(b.Definition)
	for _, d := range deploymentsFor(t, []*bundle.Bundle{b}, []target.Cluster{testCluster("dev", "dev")}) {
		translated, err := newEntry(d)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]any{"password": "hunter2"}, translated.values); diff != "" || child(translated.options, "helm")["values"] != nil {
			t.Errorf("options %v, secret values (-want +got):\n%s", translated.options, diff)
		}
	}
}

// Each cluster gets its own values from the Secret, whatever its name is. Fleet merges the values of
// the target into the common ones (its pkg/helmvalues/set.go).
func TestSecretValuesOfAnyName(t *testing.T) {
	t.Parallel()
	own := map[string]map[string]any{}
	made := content{entries: map[string]entry{}}
	for _, cluster := range []string{"a", "values.yaml", "_salt"} {
		own[cluster] = map[string]any{"cluster": cluster, "same": "on all"}
		made.entries[cluster] = entry{digest: "v1-" + cluster, values: own[cluster], options: map[string]any{}}
	}
	data, err := secretValues(made.entries, nil, func(string) bool { return false }, []byte("salt"))
	if err != nil {
		t.Fatal(err)
	}
	spec, err := made.compose()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]map[string]any{}
	targets, _ := spec["targets"].([]any)
	for _, each := range targets {
		target, _ := each.(map[string]any)
		cluster, _ := target["clusterName"].(string)
		name, _ := target["name"].(string)
		if got[cluster], err = storedValues(data["values.yaml"], data[name]); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(own, got); diff != "" {
		t.Errorf("values of each cluster (-want +got):\n%s", diff)
	}
	kept, err := secretValues(made.entries, data, func(string) bool { return true }, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(data, kept); diff != "" {
		t.Errorf("values that are kept (-want +got):\n%s", diff)
	}
}

func TestSecretValues(t *testing.T) {
	t.Parallel()
	entries := map[string]entry{
		"a": {digest: "v1-a", values: map[string]any{"x": "new"}}, "b": {digest: "v1-b", values: map[string]any{"x": "new"}}, "c": {digest: emptyDigest},
	}
	before := map[string][]byte{"cluster.a": []byte(`{"x":"old"}`), "cluster.c": []byte(`{"x":"old"}`), saltKey: []byte("first")}
	got, err := secretValues(entries, before, func(cluster string) bool { return cluster != "b" }, []byte("second"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]byte{"cluster.a": []byte(`{"x":"old"}`), "cluster.b": []byte(`{"x":"new"}`), saltKey: []byte("first")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("contents (-want +got):\n%s", diff)
	}
	// Values that are equal on all clusters are stored once. Clusters that keep their values keep
	// them.
	entries = map[string]entry{
		"a": {digest: "v1-a", values: map[string]any{"x": "new", "y": 1.0}}, "b": {digest: "v1-b", values: map[string]any{"x": "new", "y": 2.0}},
	}
	first, err := secretValues(entries, nil, func(string) bool { return false }, []byte("salt"))
	if err != nil {
		t.Fatal(err)
	}
	want = map[string][]byte{"values.yaml": []byte(`{"x":"new"}`), "cluster.a": []byte(`{"y":1}`), "cluster.b": []byte(`{"y":2}`), saltKey: []byte("salt")}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("common values (-want +got):\n%s", diff)
	}
	entries["b"] = entry{digest: "v1-c", values: map[string]any{"x": "newest", "y": 2.0}}
	entries["a"] = entry{digest: "v1-a", values: map[string]any{"x": "not shown by a plan"}}
	got, err = secretValues(entries, first, func(cluster string) bool { return cluster == "a" }, []byte("other"))
	if err != nil {
		t.Fatal(err)
	}
	want = map[string][]byte{"cluster.a": []byte(`{"x":"new","y":1}`), "cluster.b": []byte(`{"x":"newest","y":2}`), saltKey: []byte("salt")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values that one cluster keeps (-want +got):\n%s", diff)
	}
	// A cluster whose values are in the Bundle must not get those of other clusters.
	entries["c"] = entry{digest: "v1-c"}
	entries["a"] = entries["b"]
	if got, err = secretValues(entries, nil, func(string) bool { return false }, nil); err != nil || got[rootKey] != nil {
		t.Errorf("with a cluster without secret values: got %s, %v", got, err)
	}
	large := map[string][]byte{"a": make([]byte, maxSecret)}
	if checkValuesSize("web", large) == nil {
		t.Error("a Secret that is too large is no error")
	}
	if got, err := secretValues(map[string]entry{"a": {}}, nil, func(string) bool { return false }, []byte("salt")); got != nil || err != nil {
		t.Errorf("without values: got %v, %v", got, err)
	}
	// As Fleet computes it (its pkg/helmvalues/extract_test.go).
	if got, want := hashOf(map[string][]byte{"values.yaml": []byte(`{"key":"value"}`), "target": []byte(`{"newkey":"value"}`)}),
		"17e05a97acde825d03ca37c2b8fc1aecf3f8f9fde28c21702492c56d4d4a68f1"; got != want {
		t.Errorf("hash: got %s, want %s", got, want)
	}
}
