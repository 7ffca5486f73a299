package preview

import (
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fetch"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// SnapshotCache keeps the snapshots that the plans of one process have read, by cluster. The zero
// value is empty.
type SnapshotCache struct {
	fetch.Cache[release.Snapshot]
}

// Has reports whether the snapshot of a cluster is cached.
func (c *SnapshotCache) Has(cluster string) bool {
	_, known := c.Known(cluster)
	return known
}

// UIDs returns the identities of those clusters whose snapshots are cached.
func (c *SnapshotCache) UIDs(clusters []string) map[string]string {
	uids := map[string]string{}
	for _, name := range clusters {
		if snapshot, _ := c.Known(name); snapshot.UID != "" {
			uids[name] = snapshot.UID
		}
	}
	return uids
}
