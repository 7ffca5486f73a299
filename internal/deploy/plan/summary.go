package plan

import (
	"maps"
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// Summary is what a plan does to the deployments of a target.
type Summary struct {
	Counts status.Changes
	// Stages describes the order of the writes, and what is held.
	Stages string
	// Uninstalled are the releases that are uninstalled, by namespace and name, such as "shop/web".
	Uninstalled []OnClusters
	// Namespaces are those that an apply creates.
	Namespaces []OnClusters
	// Replaces reports that a state has a target of this name, whose deployments are counted.
	Replaces bool
	// Destroys reports that the target is destroyed.
	Destroys bool
}

// OnClusters are names that some clusters have in common.
type OnClusters struct{ Clusters, Names []string }

// Summary returns the summary of a change. Removals on clusters that cannot be reached are not part
// of it, because nothing is uninstalled there.
func (c Change) Summary() Summary {
	return Summary{Counts: c.Counts(), Stages: c.Stages, Uninstalled: uninstalled(c.Remove, c.Prior)}
}

// DestroySummary returns the summary of the removal of a whole target.
func (c Change) DestroySummary(reach Reach) Summary {
	reachable, _ := c.WithoutUnreachable(reach)
	summary := reachable.Summary()
	summary.Destroys = true
	return summary
}

// Summary returns the summary of a plan. replaced are the records of the target that a create
// replaces: the create has what it wants of them.
func (p *Plan) Summary(replaced map[deploy.Key]deploy.Record) Summary {
	if len(replaced) == 0 {
		return p.Change.Summary()
	}
	summary := Compare(p.desired, replaced, false).Summary()
	summary.Replaces = true
	return summary
}

// uninstalled returns the releases that are uninstalled.
func uninstalled(removed []deploy.Key, prior map[deploy.Key]deploy.Record) []OnClusters {
	byCluster := map[string][]string{}
	for _, key := range removed {
		for _, known := range prior[key].Releases() {
			byCluster[key.Cluster] = append(byCluster[key.Cluster], known.Namespace+"/"+known.Release)
		}
	}
	return GroupClusters(byCluster)
}

// GroupClusters returns one element for all clusters that have the same names, sorted.
func GroupClusters(byCluster map[string][]string) []OnClusters {
	var found []OnClusters
	places := map[string]int{}
	for _, cluster := range slices.Sorted(maps.Keys(byCluster)) {
		names := slices.Compact(slices.Sorted(slices.Values(byCluster[cluster])))
		same := strings.Join(names, " ")
		place, ok := places[same]
		if !ok {
			place, places[same] = len(found), len(found)
			found = append(found, OnClusters{Names: names})
		}
		found[place].Clusters = append(found[place].Clusters, cluster)
	}
	return found
}

// Uninstalls returns how many releases are uninstalled.
func (s Summary) Uninstalls() int {
	number := 0
	for _, each := range s.Uninstalled {
		number += len(each.Clusters) * len(each.Names)
	}
	return number
}
