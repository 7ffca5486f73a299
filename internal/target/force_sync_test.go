package target_test

import (
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Another forceSyncGeneration deploys a bundle again, although nothing else has changed.
func TestDigestCoversForceSyncGeneration(t *testing.T) {
	t.Parallel()

	digests := make(map[string]bool)
	for _, text := range []string{"", "forceSyncGeneration: 1\n", "forceSyncGeneration: 2\n"} {
		result, err := target.Deployments(t.Context(), target.Input{
			Bundles: []*bundle.Bundle{parsed(t, "b", text)}, Rules: everywhere(), Clusters: []target.Cluster{cluster("a")},
		})
		if err != nil || len(result.Deployments) != 1 {
			t.Fatal(err, result)
		}
		digests[result.Deployments[0].Digest] = true
	}
	if len(digests) != 3 {
		t.Errorf("three generations have %d digests", len(digests))
	}
}
