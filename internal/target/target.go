// Package target decides which clusters get which bundles, and with which
// options.
package target

import (
	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// DefaultNamespace is the workspace namespace of clusters without one in the configuration.
const DefaultNamespace = "fleet-default"

// NewCluster returns a cluster without facts, in the default workspace.
func NewCluster(name string) Cluster { return Cluster{Name: name, Namespace: DefaultNamespace} }

// Cluster contains the facts of a cluster that targeting uses, never a connection.
type Cluster struct {
	Name           string
	Namespace      string // Fleet's workspace namespace, which templates can read
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

// Rule selects clusters. All given criteria must match; a rule without criteria matches nothing.
type Rule = fleetyaml.Criteria

// Deployment is one bundle on one cluster, ready to be rendered: Fleet's
// BundleDeployment.
type Deployment struct {
	Cluster string
	// Release and Namespace identify the Helm release on the cluster.
	Release   string
	Namespace string
	// Options are the bundle's options merged with the options of the matching customizations,
	// templated for this cluster.
	Options fleetyaml.Options
	// Digest covers the bundle's content, Options, Release and Namespace. It does not cover options
	// that the bundle has for other clusters.
	Digest string
	// Unpinned is true if Digest does not cover the objects that values are read from, because
	// their versions are not known yet.
	Unpinned bool
	// Capabilities are what the chart is rendered with, nil for the capabilities that the cluster
	// has at that moment. Digest does not cover them: another version of the cluster is no reason
	// to deploy.
	Capabilities *Capabilities
	// WriteOnly is nil if the configuration gives no write-only input. Digest covers its versions.
	WriteOnly *WriteOnly
	// Public is what templates can read of the cluster and a plan may print: its names and labels. It is
	// shared by the deployments of the cluster, and nil if no values were templated.
	Public map[string]any
	// Bundle is shared by all of its deployments and must not be changed.
	Bundle *bundle.Bundle
	// Paused deployments are planned but must not be written.
	Paused bool
	// Partitions are the indices of the partitions of the bundle's rollout strategy that the
	// cluster is in.
	Partitions []int
}

// Key returns the name of a deployment in state and messages: "cluster/bundle".
func (d Deployment) Key() string { return Key(d.Cluster, d.Bundle.Name) }

// HelmOptions returns the options for Helm, empty ones if there are none.
func (d Deployment) HelmOptions() fleetyaml.Helm {
	if d.Options.Helm == nil {
		return fleetyaml.Helm{}
	}
	return *d.Options.Helm
}

// ReplacesObjects reports whether an object is deleted and created again if an update cannot change it.
func (d Deployment) ReplacesObjects() bool {
	return d.HelmOptions().Force || d.Options.CorrectDrift != nil && d.Options.CorrectDrift.Force
}

// Key joins the names of a cluster and a bundle. Neither contains a "/".
func Key(cluster, bundle string) string { return cluster + "/" + bundle }
