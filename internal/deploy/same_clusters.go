package deploy

import (
	"maps"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// SameClusters returns the groups of names that refer to one cluster, sorted, given the UID of
// each name. A UID of "" is unknown and equal to no other.
func SameClusters(uids map[string]string) [][]string {
	names := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(uids)) {
		if uid := uids[name]; uid != "" {
			names[uid] = append(names[uid], name)
		}
	}
	var same [][]string
	for _, group := range names {
		if len(group) > 1 {
			same = append(same, group)
		}
	}
	slices.SortFunc(same, slices.Compare)
	return same
}

// SplitSame splits groups of names that refer to one cluster. Two names of an overlapping group are to
// have one release, so that each write under one name would overwrite that of the other.
func SplitSame(same [][]string, wanted []target.Deployment) (overlapping, apart [][]string) {
	if len(same) == 0 {
		return nil, nil
	}
	releases := map[string]map[string]bool{}
	for _, d := range wanted {
		if releases[d.Cluster] == nil {
			releases[d.Cluster] = map[string]bool{}
		}
		releases[d.Cluster][release.Key(d.Namespace, d.Release)] = true
	}
	for _, names := range same {
		if overlap(names, releases) {
			overlapping = append(overlapping, names)
			continue
		}
		apart = append(apart, names)
	}
	return overlapping, apart
}

func overlap(names []string, releases map[string]map[string]bool) bool {
	seen := map[string]bool{}
	for _, name := range names {
		for key := range releases[name] {
			if seen[key] {
				return true
			}
			seen[key] = true
		}
	}
	return false
}
