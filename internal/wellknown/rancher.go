package wellknown

const (
	// RancherDomain is the end of the domains of Rancher's labels and annotations, those of Fleet
	// included (Fleet: internal/cmd/controller/target/builder.go).
	RancherDomain = "cattle.io/"
	// ManagementPrefix is the prefix of the labels that Rancher's own management writes
	// (Fleet: internal/cmd/controller/target/builder.go).
	ManagementPrefix = "management." + RancherDomain
	// ClusterDisplayName is the label with the name of a cluster that Rancher shows to users
	// (Fleet: internal/cmd/controller/target/matcher/clustermatcher.go).
	ClusterDisplayName = ManagementPrefix + "cluster-display-name"
	// ObjectSetHash is the label of objects that Rancher's apply has written. Fleet's agent uses
	// that apply too (github.com/rancher/wrangler, pkg/apply/desiredset_apply.go).
	ObjectSetHash = ObjectSetPrefix + "hash"
	// ObjectSetPrefix begins all labels and annotations that the agent adds to objects.
	ObjectSetPrefix = "objectset.rio." + RancherDomain
)
