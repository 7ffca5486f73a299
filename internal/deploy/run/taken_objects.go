package run

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/rollout"
)

// takenObjects are the bundles of one cluster that have taken their objects over.
type takenObjects struct {
	mu      sync.Mutex
	bundles map[string]bool
}

func (t *takenObjects) by(bundle string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.bundles == nil {
		t.bundles = map[string]bool{}
	}
	t.bundles[bundle] = true
}

// missing returns those of the leaving objects that have not been taken over.
func (t *takenObjects) missing(leaving map[string]string) map[string]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	left := maps.Clone(leaving)
	maps.DeleteFunc(left, func(_, bundle string) bool { return t.bundles[bundle] })
	if len(left) == 0 {
		return nil
	}
	return left
}

// notTakenOverError returns why a deployment is not removed: no state would list its objects any
// more.
func notTakenOverError(left map[string]string) error {
	var parts []string
	for _, object := range slices.Sorted(maps.Keys(left)) {
		parts = append(parts, fmt.Sprintf("%s moves to bundle %s", object, left[object]))
	}
	return &rollout.HeldError{Reason: "other bundles have not adopted its objects yet: " + strings.Join(parts, ", ")}
}

// noteHandedOver notes which objects of written deployments wait to be taken over. It runs after
// all writes.
func (r *clusterRun) noteHandedOver() {
	for bundle, leaving := range r.moves.Leaving {
		r.results.addHandedOver(deploy.Key{Cluster: r.name, Bundle: bundle}, r.taken.missing(leaving))
	}
}
