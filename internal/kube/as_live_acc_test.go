package kube_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// What an API server has set is no change, an object that does not exist is added, and a field that
// the rules leave out is not compared.
func TestAccCompare(t *testing.T) {
	t.Parallel()
	l := newLab(t, "compare")
	const service = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}]}\n"
	with := func(name, data string) string { return configMap(name, "") + "\ndata: " + data }
	l.create(t, l.infos(t, with("changes", "{a: x, b: live}"), with("ignored", "{a: x}"), service))
	documents := append(documentsOf(t, with("changes", "{a: z}"), with("ignored", "{a: z}"), with("new", "{a: x}"), service), diff.Document{Hook: true, Content: "is not read"})
	ignored := fleetyaml.ComparePatch{APIVersion: "v1", Kind: "ConfigMap", Namespace: l.namespace, Name: "ignored", JSONPointers: []string{"/data/a"}}
	compared := l.Compare(t.Context(), []release.Comparison{{
		Namespace: l.namespace, Rules: release.Rules{ComparePatches: []fleetyaml.ComparePatch{ignored}}, Documents: documents,
	}})[0]
	got := changesIn(t, compared)
	of := func(value string) string {
		return "apiVersion: v1\ndata:\n  a: " + value + "\nkind: ConfigMap\nmetadata: {}\n"
	}
	want := map[string][2]string{
		"ConfigMap/" + l.namespace + "/changes": {of("x"), of("z")},
		"ConfigMap/" + l.namespace + "/new":     {"", of("x")},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

// A tenant chooses the content of a live Secret. The plan that takes it over or corrects it shows none of it.
func TestAccAttackLiveSecret(t *testing.T) {
	t.Parallel()
	l := newLab(t, "takeover")
	const (
		live   = "apiVersion: v1\nkind: Secret\nmetadata: {name: web}\nstringData: {password: kiwi-7f3a91-live, user: same}\n"
		wanted = "apiVersion: v1\nkind: Secret\nmetadata: {name: web}\nstringData: {password: plum-5c2b80-new, user: same}\n"
	)
	copied := func(value string) string { return configMap("copy", "") + "\ndata: {copy: " + value + "}" }
	l.create(t, l.infos(t, live, copied("kiwi-7f3a91-live")))
	corrected := l.inspection(release.Rules{})
	for name, wrote := range map[string]*release.Inspection{"taken over": nil, "corrected": &corrected} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compared := l.Compare(t.Context(), []release.Comparison{{Namespace: l.namespace, Documents: documentsOf(t, wanted, copied("plum-5c2b80-new")), Wrote: wrote}})[0]
			if compared.Err != nil {
				t.Fatal(compared.Err)
			}
			changes, err := diff.CompareHiding(compared.Before, compared.After, diff.HCLSides{})
			if err != nil || len(changes) != 2 {
				t.Fatalf("changes %v, %v", changes, err)
			}
			for _, change := range changes {
				if text := change.Before + change.After; strings.Contains(text, "kiwi") || strings.Contains(text, "plum") {
					t.Errorf("a value of a Secret is shown:\n%s", text)
				}
			}
		})
	}
}

func documentsOf(t *testing.T, manifests ...string) []diff.Document {
	t.Helper()
	var documents []diff.Document
	for _, object := range manifest(t, manifests...) {
		content, err := object.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, diff.Document{Content: string(content)})
	}
	return documents
}

// What others have changed is shown with both values. What a plan does not count as drift is not shown.
func TestAccCompareDrift(t *testing.T) {
	t.Parallel()
	l := newLab(t, "compare-drift")
	with := func(name, data string) string { return configMap(name, "") + "\ndata: " + data }
	foreign := strings.Replace(with("foreign", "{a: edited}"), "metadata: {", "metadata: {annotations: {meta.helm.sh/release-name: other, meta.helm.sh/release-namespace: ns}, ", 1)
	const job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: once}\nspec: {ttlSecondsAfterFinished: 1, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}\n"
	l.create(t, l.infos(t, with("edited", "{a: edited, b: webhook, c: x}"), foreign))
	documents := documentsOf(t, with("edited", "{a: x, b: x, c: x}"), with("foreign", "{a: x}"), with("missing", "{a: x}"), job)
	wrote := l.inspection(release.Rules{})
	found := l.inspect(t, l.Client, wrote.Rules, with("edited", "{a: edited, b: x, c: x}"))
	wrote.Accepted = found.Differences()
	if len(wrote.Accepted) != 1 {
		t.Fatalf("stored differences: %v", wrote.Accepted)
	}
	compared := l.Compare(t.Context(), []release.Comparison{{Namespace: l.namespace, Documents: documents, Wrote: &wrote}})[0]
	got := changesIn(t, compared)
	of := func(data string) string { return "apiVersion: v1\ndata:\n" + data + "kind: ConfigMap\nmetadata: {}\n" }
	want := map[string][2]string{
		"ConfigMap/" + l.namespace + "/edited":  {of("  a: edited\n  b: x\n  c: x\n"), of("  a: x\n  b: x\n  c: x\n")},
		"ConfigMap/" + l.namespace + "/missing": {"", of("  a: x\n")},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

// changesIn returns both sides of each object that differs, by its key.
func changesIn(t *testing.T, compared release.Compared) map[string][2]string {
	t.Helper()
	if compared.Err != nil {
		t.Fatal(compared.Err)
	}
	changes, err := diff.Compare(compared.Before, compared.After)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][2]string{}
	for _, change := range changes {
		found[change.Key] = [2]string{change.Before, change.After}
	}
	return found
}
