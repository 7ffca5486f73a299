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
	if compared.Err != nil {
		t.Fatal(compared.Err)
	}
	changes, err := diff.Compare(compared.Before, compared.After)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][2]string{}
	for _, change := range changes {
		got[change.Key] = [2]string{change.Before, change.After}
	}
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

// A tenant chooses the content of a live Secret, and the plan of a take-over shows none of it.
func TestAccAttackTakenOverSecret(t *testing.T) {
	t.Parallel()
	l := newLab(t, "takeover")
	const (
		live   = "apiVersion: v1\nkind: Secret\nmetadata: {name: web}\nstringData: {password: kiwi-7f3a91-live, user: same}\n"
		wanted = "apiVersion: v1\nkind: Secret\nmetadata: {name: web}\nstringData: {password: plum-5c2b80-new, user: same}\n"
	)
	copied := func(value string) string { return configMap("copy", "") + "\ndata: {copy: " + value + "}" }
	l.create(t, l.infos(t, live, copied("kiwi-7f3a91-live")))
	compared := l.Compare(t.Context(), []release.Comparison{{Namespace: l.namespace, Documents: documentsOf(t, wanted, copied("plum-5c2b80-new"))}})[0]
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
