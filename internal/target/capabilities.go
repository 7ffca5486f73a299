package target

import (
	"slices"
	"strings"
)

// Capabilities are what charts read of a cluster, as of the last time it was read.
type Capabilities struct {
	// Version, Major and Minor are those of Kubernetes, such as "v1.36.0", "1", "36".
	Version, Major, Minor string
	// APIs are API versions and their kinds, such as "apps/v1" and
	// "apps/v1/Deployment", sorted.
	APIs []string
	// Silent are API versions that exist but did not return their kinds.
	Silent []string
	// MayGrow is true if the cluster can serve more API versions when the deployment is written:
	// other programs or deployments can add their definitions before.
	MayGrow bool
	// Fixed is true if the configuration sets the capabilities, regardless of what the cluster
	// serves.
	Fixed bool
}

// With returns the capabilities of a cluster that serves more API versions.
func (c Capabilities) With(apis []string) Capabilities {
	c.APIs = slices.Concat(c.APIs, apis)
	slices.Sort(c.APIs)
	c.APIs = slices.Compact(c.APIs)
	return c
}

// Equal reports whether charts read the same from both.
func (c Capabilities) Equal(other Capabilities) bool {
	return c.Version == other.Version && c.Major == other.Major && c.Minor == other.Minor &&
		c.MayGrow == other.MayGrow && slices.Equal(c.APIs, other.APIs)
}

// Completed adds the earlier kinds of API versions that are silent now: an API whose server is down
// still exists.
func (c Capabilities) Completed(before Capabilities) Capabilities {
	if len(c.Silent) == 0 {
		return c
	}
	return c.With(slices.DeleteFunc(slices.Clone(before.APIs), func(api string) bool { return !c.isSilent(api) }))
}

func (c Capabilities) isSilent(api string) bool {
	return slices.ContainsFunc(c.Silent, func(version string) bool {
		return api == version || strings.HasPrefix(api, version+"/")
	})
}
