package kube_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// A namespace is missing if the API server reports it as not found. A kind is not served if the API server itself
// reports that it has no such kind in that version.
func TestAccLacks(t *testing.T) {
	t.Parallel()
	missing := []release.Kind{{APIVersion: "v1", Kind: "ConfigMapp"}, {APIVersion: "apps/v1beta1", Kind: "Deployment"}, {APIVersion: "none.example.com/v1", Kind: "Widget"}}
	served := []release.Kind{{APIVersion: "v1", Kind: "ConfigMap"}, {APIVersion: "apps/v1", Kind: "Deployment"}, {APIVersion: "rbac.authorization.k8s.io/v1", Kind: "Role"}}
	needs := release.Needs{Kinds: append(served, missing...), Namespaces: []string{"default", "never-created"}}
	got, err := newLab(t, "lacks").Lacks(t.Context(), needs)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(release.Needs{Kinds: missing, Namespaces: needs.Namespaces[1:]}, got); diff != "" {
		t.Errorf("what the cluster lacks (-want +got):\n%s", diff)
	}
}
