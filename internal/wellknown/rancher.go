package wellknown

const (
	// RancherDomain ends the domains of Rancher's labels and annotations, those of Fleet
	// included (Fleet: internal/cmd/controller/target/builder.go).
	RancherDomain = "cattle.io/"
	// ManagementPrefix begins the labels that Rancher's own management writes (Fleet:
	// internal/cmd/controller/target/builder.go).
	ManagementPrefix = "management." + RancherDomain
	// ClusterDisplayName is the label in which Rancher keeps the name of a cluster that
	// people see (Fleet: internal/cmd/controller/target/matcher/clustermatcher.go).
	ClusterDisplayName = ManagementPrefix + "cluster-display-name"
	// ObjectSetHash is the label of objects that Rancher's apply has written, as that of
	// Fleet's agent does (github.com/rancher/wrangler, pkg/apply/desiredset_apply.go).
	ObjectSetHash = "objectset.rio." + RancherDomain + "hash"
)
