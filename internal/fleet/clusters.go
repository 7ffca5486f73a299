package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	kubelabels "k8s.io/apimachinery/pkg/labels"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// Cluster is a Cluster object of Fleet.
type Cluster struct {
	// Facts are what targeting and templates see.
	Facts target.Cluster
	// Groups are the names of the ClusterGroups that select it, sorted.
	Groups []string
	// DeploymentNamespace is the namespace of its BundleDeployments, "" until Fleet has created it.
	DeploymentNamespace string
	// LastSeen is when its agent reported last. It is zero if that never happened.
	LastSeen time.Time
	// State is the worst state of its bundles, "Ready" if it has none, or "WaitCheckIn" if its agent was
	// never seen.
	State string
}

// IsOffline reports whether the agent has not been seen for longer than after.
func (c Cluster) IsOffline(now time.Time, after time.Duration) bool {
	return now.Sub(c.LastSeen) > after
}

// Inventory is the clusters and groups of a Fleet, sorted by name.
type Inventory struct {
	Clusters []Cluster
	Groups   []target.Group
	// Invalid are the groups with a selector that cannot be read, sorted by name. Fleet ignores them,
	// so they contain no cluster.
	Invalid []InvalidGroup
}

// InvalidGroup is a ClusterGroup with a selector that cannot be read.
type InvalidGroup struct {
	Name string
	Err  error
}

// Facts returns the facts of the clusters, in their order.
func (i *Inventory) Facts() []target.Cluster {
	facts := make([]target.Cluster, len(i.Clusters))
	for at, cluster := range i.Clusters {
		facts[at] = cluster.Facts
	}
	return facts
}

// Limits for reading. Other clients write these objects.
const (
	maxClusters = 20_000
	// maxGroups keeps the work of finding the groups of all clusters to some seconds.
	maxGroups = 1_000
	// maxBundles and maxDeployments are for one target, and maxDeploymentsSize is for all of its
	// BundleDeployments, in bytes. One takes some 10 kB. maxClusterSize is for those of one cluster.
	maxBundles         = 20_000
	maxDeployments     = 500_000
	maxDeploymentsSize = 1 << 30
	maxClusterSize     = 64 << 20
	// maxInventory is for all pages of one list, in bytes. A Cluster takes some 5 kB.
	maxInventory = 256 << 20
	// maxState is for a text that is shown.
	maxState = 100
)

// InventoryTooLargeError reports that a management cluster has more objects than this provider
// reads.
type InventoryTooLargeError struct {
	// Kind of the objects, such as "Cluster", and their Namespace.
	Kind, Namespace string
	// Limit is the limit that is exceeded, such as "20000 objects".
	Limit string
}

func (e *InventoryTooLargeError) Error() string {
	where := "namespace " + e.Namespace
	if e.Namespace == "" {
		where = "the management cluster"
	}
	return fmt.Sprintf("%s has more %s objects than are read: the limit is %s", where, e.Kind, e.Limit)
}

// Inventory reads the clusters and groups with paged lists, up to maxClusters and maxGroups. A
// larger inventory is an *InventoryTooLargeError.
func (e *Engine) Inventory(ctx context.Context) (Inventory, error) {
	c, err := e.management()
	if err != nil {
		return Inventory{}, err
	}
	var found Inventory
	groups := objectList[groupObject]{
		kind: "ClusterGroup", resource: "clustergroups", namespace: e.settings.Namespace, limit: maxGroups, bytes: maxInventory,
	}
	if _, _, err := groups.read(ctx, c.requests, found.addGroup); err != nil {
		return Inventory{}, e.inventoryError("listing the cluster groups of", err)
	}
	_, _, err = clusterList(e.settings.Namespace).read(ctx, c.requests, func(object clusterObject) {
		found.Clusters = append(found.Clusters, object.cluster(e.settings.Namespace))
	})
	if err != nil {
		return Inventory{}, e.inventoryError("listing the clusters of", err)
	}
	found.sort()
	return found, found.assignGroups()
}

func (e *Engine) inventoryError(doing string, err error) error {
	if _, is := errors.AsType[*InventoryTooLargeError](err); is {
		return err
	}
	return e.failed(doing, err)
}

func (i *Inventory) sort() {
	slices.SortFunc(i.Clusters, func(a, b Cluster) int { return strings.Compare(a.Facts.Name, b.Facts.Name) })
	slices.SortFunc(i.Groups, func(a, b target.Group) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(i.Invalid, func(a, b InvalidGroup) int { return strings.Compare(a.Name, b.Name) })
}

// addGroup adds a group as Fleet understands it: without a selector, or with one that cannot be read,
// it selects nothing (Fleet: internal/cmd/controller/target/query.go). Rules may still name it.
func (i *Inventory) addGroup(object groupObject) {
	group := target.Group{Name: object.Metadata.Name, Labels: object.Metadata.Labels, Selector: nothing()}
	switch _, err := object.Spec.Selector.Compile(); {
	case err != nil:
		shown := mask.PrintableLine(mask.WithoutMiddle(err.Error(), maxText))
		i.Invalid = append(i.Invalid, InvalidGroup{Name: group.Name, Err: mask.WithText(err, shown)})
	case object.Spec.Selector != nil:
		group.Selector = *object.Spec.Selector
	}
	i.Groups = append(i.Groups, group)
}

// nothing selects no cluster. An empty selector selects all.
func nothing() fleetyaml.Selector {
	const key = wellknown.FleetPrefix + "none"
	return fleetyaml.Selector{MatchExpressions: []fleetyaml.Requirement{
		{Key: key, Operator: "Exists"},
		{Key: key, Operator: "DoesNotExist"},
	}}
}

func (i *Inventory) assignGroups() error {
	for _, group := range i.Groups {
		selector, err := group.Selector.Compile()
		if err != nil {
			return fmt.Errorf("reading the selector of ClusterGroup %s: %w", group.Name, err)
		}
		for at := range i.Clusters {
			if cluster := &i.Clusters[at]; selector.Matches(kubelabels.Set(cluster.Facts.Labels)) {
				cluster.Groups = append(cluster.Groups, group.Name)
			}
		}
	}
	return nil
}

// clusterObject is what this provider reads of a Cluster
// (Fleet: pkg/apis/fleet.cattle.io/v1alpha1/cluster_types.go).
type clusterObject struct {
	Metadata struct {
		Name        string            `json:"name"`
		UID         string            `json:"uid"`
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		Paused         bool           `json:"paused"`
		TemplateValues map[string]any `json:"templateValues"`
	} `json:"spec"`
	Status struct {
		Namespace string `json:"namespace"`
		Display   struct {
			State string `json:"state"`
		} `json:"display"`
		Agent struct {
			LastSeen agentTime `json:"lastSeen"`
		} `json:"agent"`
	} `json:"status"`
}

// agentTime is a time that an agent has written. A custom resource definition allows texts that are
// no time for Go, such as one with small letters. Such a text counts as no time, so that it costs only
// its own cluster.
type agentTime struct{ time.Time }

// UnmarshalJSON implements json.Unmarshaler.
func (t *agentTime) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, &t.Time) != nil {
		t.Time = time.Time{}
	}
	return nil
}

// clusterList is the list of the clusters in a namespace.
func clusterList(namespace string) objectList[clusterObject] {
	return objectList[clusterObject]{kind: "Cluster", resource: "clusters", namespace: namespace, limit: maxClusters, bytes: maxInventory}
}

func (o clusterObject) cluster(namespace string) Cluster {
	return Cluster{
		Facts: target.Cluster{
			Name: o.Metadata.Name, Namespace: namespace, DisplayName: o.Metadata.Labels[wellknown.ClusterDisplayName],
			Labels: o.Metadata.Labels, Annotations: target.VisibleAnnotations(o.Metadata.Annotations),
			TemplateValues: o.Spec.TemplateValues, Paused: o.Spec.Paused,
		},
		DeploymentNamespace: o.Status.Namespace,
		LastSeen:            o.Status.Agent.LastSeen.Time,
		State:               o.state(),
	}
}

// state returns the state that Fleet displays. Fleet displays nothing if all is well (Fleet:
// internal/cmd/controller/summary/summary.go).
func (o clusterObject) state() string {
	switch {
	case o.Status.Agent.LastSeen.IsZero():
		return "WaitCheckIn"
	case o.Status.Display.State == "":
		return string(status.Ready)
	}
	return mask.PrintableLine(mask.WithoutMiddle(o.Status.Display.State, maxState))
}

// groupObject is what this provider reads of a ClusterGroup
// (Fleet: pkg/apis/fleet.cattle.io/v1alpha1/clustergroup_types.go).
type groupObject struct {
	Metadata struct {
		Name   string            `json:"name"`
		Labels map[string]string `json:"labels"`
	} `json:"metadata"`
	Spec struct {
		Selector *fleetyaml.Selector `json:"selector"`
	} `json:"spec"`
}
