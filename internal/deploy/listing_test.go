package deploy_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
)

func TestListing(t *testing.T) {
	t.Parallel()
	product := func(clusters, bundles int) []deploy.Key {
		var keys []deploy.Key
		for c := range clusters {
			for b := range bundles {
				keys = append(keys, deploy.Key{Cluster: fmt.Sprint("c", c), Bundle: fmt.Sprint("b", b)})
			}
		}
		return keys
	}
	tests := map[string]struct {
		keys            []deploy.Key
		summary, detail string
	}{
		"one":              {product(1, 1), "c0/b0", "c0/b0"},
		"three":            {product(3, 1), "c0/b0, c1/b0, c2/b0", "c0/b0, c1/b0, c2/b0"},
		"four":             {product(2, 2), "4 deployments", "c0/b0, c0/b1, c1/b0, c1/b1"},
		"many on all":      {product(3, 4), "12 deployments", "\n  - 4 bundles on 3 clusters (c0, c1, c2): b0, b1, b2, b3"},
		"many, not alike":  {append(product(3, 4), deploy.Key{Cluster: "c9", Bundle: "b0"}), "13 deployments", "\n  - 1 bundle on 1 cluster (c9): b0\n  - 4 bundles on 3 clusters (c0, c1, c2): b0, b1, b2, b3"},
		"clusters as such": {[]deploy.Key{{Cluster: "c0"}, {Cluster: "c1"}}, "c0, c1", "c0, c1"},
		"many clusters":    {[]deploy.Key{{Cluster: "c0"}, {Cluster: "c1"}, {Cluster: "c2"}, {Cluster: "c3"}}, "4 clusters", "c0, c1, c2, c3"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.summary, deploy.SummaryOf(test.keys)); diff != "" {
				t.Errorf("summary (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.detail, deploy.ListOf(test.keys)); diff != "" {
				t.Errorf("detail (-want +got):\n%s", diff)
			}
		})
	}
}
