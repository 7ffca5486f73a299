package provider

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
)

func TestUnreachableNamesClusters(t *testing.T) {
	t.Parallel()
	var data deploymentsModel
	data.set(deploy.Observation{Failures: []deploy.Failure{
		{Cluster: "a", Doing: "looking at the cluster", Err: errors.New("no answer")},
		{Cluster: "b", Bundle: "web", Doing: "looking at the objects", Err: errors.New("forbidden")},
	}})
	if diff := cmp.Diff(textsValue([]string{"a"}), data.Unreachable); diff != "" {
		t.Errorf("unreachable (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(textsValue([]string{"b/web"}), data.Unobserved); diff != "" {
		t.Errorf("unobserved (-want +got):\n%s", diff)
	}
}
