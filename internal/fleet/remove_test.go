package fleet

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/run"
)

// Fleet deletes the BundleDeployments of all Bundles one after the other, in its own order. The
// removal waits as long as another one is deleted within a minute.
func TestAwaitDropped(t *testing.T) {
	t.Parallel()
	const clusters = 5
	for name, test := range map[string]struct {
		deleted int // of the clusters, the last one first
		pause   time.Duration
		others  int      // BundleDeployments of another Bundle that are deleted before
		want    []string // the clusters whose BundleDeployments are left
	}{
		"slow":                          {deleted: clusters, pause: forgetTime * 2 / 3},
		"stuck":                         {deleted: 3, pause: forgetTime * 2 / 3, want: []string{"c0", "c1"}},
		"none":                          {want: []string{"c0", "c1", "c2", "c3", "c4"}},
		"after those of another Bundle": {others: 4, deleted: clusters, pause: forgetTime * 2 / 3},
		"stuck after those of another":  {others: 4, pause: forgetTime * 2 / 3, want: []string{"c0", "c1", "c2", "c3", "c4"}},
		"late":                          {deleted: clusters, pause: forgetTime * 2, want: []string{"c0", "c1", "c2", "c3", "c4"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var keys []deploy.Key
				seen := view{deployments: map[deploymentID]*bundleDeployment{}, clusters: map[string]managedCluster{}}
				for i := range clusters {
					cluster := fmt.Sprintf("c%d", i)
					keys = append(keys, deploy.Key{Cluster: cluster, Bundle: "web"})
					seen.deployments[deploymentID{"tf-web", cluster}] = &bundleDeployment{}
					seen.clusters[cluster] = managedCluster{}
				}
				for i := range test.others {
					seen.deployments[deploymentID{"tf-other", fmt.Sprintf("c%d", i)}] = &bundleDeployment{}
				}
				engine := &Engine{}
				r := removal{engine.newRun(run.Request{})}
				r.view = seen
				r.tracker = engine.newTracker(nil, "", seen)
				var deleting sync.WaitGroup
				defer deleting.Wait()
				deleting.Go(func() {
					for i := range test.others {
						<-time.After(test.pause)
						r.tracker.set(deploymentID{"tf-other", fmt.Sprintf("c%d", i)}, nil)
					}
					for i := range test.deleted {
						<-time.After(test.pause)
						r.tracker.set(deploymentID{"tf-web", fmt.Sprintf("c%d", clusters-1-i)}, nil)
					}
				})
				began := time.Now()
				forgotten := r.awaitDropped(t.Context(), "tf-web", keys)
				if took, most := time.Since(began), time.Duration(test.others+test.deleted)*test.pause+2*forgetTime; took > most {
					t.Errorf("it took %s, want %s at most", took, most)
				}
				var failed []string
				for key := range r.failed {
					failed = append(failed, key.Cluster)
				}
				slices.Sort(failed)
				if diff := cmp.Diff(test.want, failed); diff != "" {
					t.Errorf("not forgotten (-want +got):\n%s", diff)
				}
				if got, want := len(forgotten), clusters-len(test.want); got != want {
					t.Errorf("forgotten: got %d, want %d", got, want)
				}
			})
		})
	}
}
