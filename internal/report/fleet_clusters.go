package report

import (
	"fmt"
)

// NoEngine reports that the provider has no engine. Only a provider with an engine has
// clusters of Fleet.
func NoEngine() []Message {
	return failure("The provider has no engine",
		"fleet_clusters reads the Cluster objects of a Fleet. Set engine in the provider block that the data source uses: how to reach the management cluster.")
}

// EngineUnknown reports that the management cluster is not known yet.
func EngineUnknown() []Message {
	return failure("Cannot read the clusters of Fleet", "The provider's engine is not known yet. "+readLater)
}

// FleetClustersUnread reports that the clusters of a Fleet could not be read.
func FleetClustersUnread(err error) []Message {
	return failure("Cannot read the clusters of Fleet", Sentence(err)+
		" The identity needs get and list for clusters and clustergroups of the API group fleet.cattle.io, in the namespace of the engine.")
}

// InvalidGroup is a group of clusters that contains no cluster, because it is invalid.
type InvalidGroup struct {
	Name string
	Err  error
}

// InvalidGroups reports groups that Fleet ignores.
func InvalidGroups(namespace string, groups []InvalidGroup) []Message {
	lines := make([]string, len(groups))
	for i, group := range groups {
		lines[i] = fmt.Sprintf("%s: %v", group.Name, group.Err)
	}
	return warningIf(len(groups) > 0, "Cluster groups with an invalid selector",
		"Fleet ignores these ClusterGroup objects of namespace "+namespace+", so no cluster is in them:\n\n"+listOf(lines))
}
