package wellknown

// FleetPrefix is the prefix of the names of Fleet's labels and annotations
// (Fleet: pkg/apis/fleet.cattle.io/group.go).
const FleetPrefix = "fleet.cattle.io/"

const (
	// BundleName is the label with which Fleet finds a bundle's deployments by its name
	// (Fleet: pkg/apis/fleet.cattle.io/v1alpha1, BundleLabel).
	BundleName = FleetPrefix + "bundle-name"
	// BundleID is the annotation that Fleet sets in the chart of each of its releases to find them
	// again (Fleet: internal/helmdeployer/install.go).
	BundleID = FleetPrefix + "bundle-id"
)
