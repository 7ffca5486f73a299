package deploy

import (
	"maps"
	"slices"
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
