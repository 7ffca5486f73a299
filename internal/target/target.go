// Package target decides which clusters get which bundles, and with which
// options.
package target

import (
	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// DefaultNamespace is the workspace namespace of clusters that name none.
const DefaultNamespace = "fleet-default"

// NewCluster is a cluster without facts, in the default workspace.
func NewCluster(name string) Cluster { return Cluster{Name: name, Namespace: DefaultNamespace} }

// Cluster is what targeting knows of a cluster: facts, never a connection.
type Cluster struct {
	Name           string
	Namespace      string // Fleet's workspace namespace, seen by templates
	DisplayName    string
	Labels         map[string]string
	Annotations    map[string]string
	TemplateValues map[string]any
	Paused         bool
	// Capabilities are nil unless the configuration sets them.
	Capabilities *Capabilities
}

// Group names the clusters whose labels match Selector.
type Group struct {
	Name     string
	Selector fleetyaml.Selector
	Labels   map[string]string
}

// Rule selects clusters. All criteria given must hold; a rule without any
// matches nothing.
type Rule struct {
	ClusterName          string
	ClusterSelector      *fleetyaml.Selector
	ClusterGroup         string
	ClusterGroupSelector *fleetyaml.Selector
}

// Deployment is one bundle on one cluster, ready to be rendered: Fleet's
// BundleDeployment.
type Deployment struct {
	Cluster string
	// Release and Namespace identify the Helm release on the cluster.
	Release   string
	Namespace string
	// Options are the bundle's options merged with those of the matching
	// customizations, templated for this cluster.
	Options fleetyaml.Options
	// Digest covers the bundle's content, Options, Release and Namespace. What a
	// bundle says of other clusters is not part of it.
	Digest string
	// Unpinned says that Digest does not cover the objects that values come from,
	// because their versions are not known yet.
	Unpinned bool
	// Capabilities are those that the chart is rendered with, nil for those that the
	// cluster has at that moment. Digest does not cover them: another version of the
	// cluster is no reason to deploy.
	Capabilities *Capabilities
	// WriteOnly is nil where the configuration gives none. Digest covers its versions.
	WriteOnly *WriteOnly
	// Bundle is shared by all deployments of it and must not be changed.
	Bundle *bundle.Bundle
	// Paused deployments are planned but must not be written.
	Paused bool
	// Partitions are the indices of the partitions that the bundle's rollout strategy
	// names and that the cluster is in.
	Partitions []int
}

// Key is how a deployment is called in state and messages: "cluster/bundle".
func (d Deployment) Key() string { return Key(d.Cluster, d.Bundle.Name) }

// HelmOptions are the options for Helm, empty ones if there are none.
func (d Deployment) HelmOptions() fleetyaml.Helm {
	if d.Options.Helm == nil {
		return fleetyaml.Helm{}
	}
	return *d.Options.Helm
}

// Key joins the names of a cluster and a bundle, neither of which holds a "/".
func Key(cluster, bundle string) string { return cluster + "/" + bundle }
