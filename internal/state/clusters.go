package state

import (
	"cmp"
	"maps"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube/connect"
)

// MergeUIDs returns the identities of clusters after a refresh. It also returns the clusters,
// sorted, that have another identity than before. A cluster that did not respond keeps its
// identity.
func MergeUIDs(known, found map[string]string) (merged map[string]string, replaced []string) {
	merged = map[string]string{}
	maps.Copy(merged, known)
	for cluster, uid := range found {
		if uid == "" {
			continue
		}
		if before, ok := known[cluster]; ok && before != uid {
			replaced = append(replaced, cluster)
		}
		merged[cluster] = uid
	}
	slices.Sort(replaced)
	return merged, replaced
}

// ExpectedUIDs are the identities that clusters must have when they are written. They are taken
// from the provider's configuration, else from the last refresh, else from the records.
func ExpectedUIDs(records map[deploy.Key]deploy.Record, found, configured map[string]string) map[string]string {
	expected := map[string]string{}
	for key, record := range records {
		if !record.Known.Engine { // A Fleet identifies clusters by its own objects.
			expected[key.Cluster] = cmp.Or(expected[key.Cluster], record.Known.UID)
		}
	}
	for cluster, uid := range found {
		expected[cluster] = cmp.Or(uid, expected[cluster])
	}
	for cluster, uid := range configured {
		expected[cluster] = cmp.Or(uid, expected[cluster])
	}
	return expected
}

// Entry is the provider's entry of a cluster.
type Entry int

// What the provider's configuration has of a cluster.
const (
	EntryRemoved Entry = iota
	EntryUnknown
	EntryKnown
)

// MergeConnections returns how the clusters of records are reached. entry returns what the
// provider's configuration has of a cluster. A cluster whose entry is removed keeps its connection.
// A cluster has none if its connection is not known yet, or needs more than may be stored.
func MergeConnections(known map[string]connect.Connection, records map[deploy.Key]deploy.Record, entry func(cluster string) (Entry, connect.Connection)) map[string]connect.Connection {
	merged := map[string]connect.Connection{}
	done := map[string]bool{}
	for key := range records {
		if done[key.Cluster] {
			continue
		}
		done[key.Cluster] = true
		has, connection := entry(key.Cluster)
		switch has {
		case EntryRemoved:
			if before, ok := known[key.Cluster]; ok {
				merged[key.Cluster] = before
			}
		case EntryKnown:
			if stored, ok := connection.Stored(); ok {
				merged[key.Cluster] = stored
			}
		case EntryUnknown:
		}
	}
	return merged
}
