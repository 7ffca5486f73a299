package kube_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// A kind is not served if the API server itself reports that it has no such kind in that version.
func TestAccUnservedKinds(t *testing.T) {
	t.Parallel()
	missing := []release.Kind{{APIVersion: "v1", Kind: "ConfigMapp"}, {APIVersion: "apps/v1beta1", Kind: "Deployment"}, {APIVersion: "none.example.com/v1", Kind: "Widget"}}
	served := []release.Kind{{APIVersion: "v1", Kind: "ConfigMap"}, {APIVersion: "apps/v1", Kind: "Deployment"}, {APIVersion: "rbac.authorization.k8s.io/v1", Kind: "Role"}}
	got, err := newLab(t, "unserved").Unserved(append(served, missing...))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(missing, got); diff != "" {
		t.Errorf("kinds that are not served (-want +got):\n%s", diff)
	}
}
