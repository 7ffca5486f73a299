package deploy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Overview is how wanted deployments are doing, overall and by cluster.
type Overview struct {
	Totals

	// ReadyClusters counts the clusters on which all deployments are ready, such as "48/50".
	ReadyClusters string
	Clusters      map[string]ClusterTotals
	// Unreachable are the clusters that could not be read, and Unobserved the deployments on
	// other clusters that could not be read. Both are sorted.
	Unreachable, Unobserved []string
}

// Totals counts deployments.
type Totals struct {
	// State is the worst one. It is "" instead of Ready if something could not be read, because
	// the unread part may not be ready.
	State status.State
	// Deployments counts the wanted ones, whether they could be read or not.
	Deployments, Ready, Failed int
	// Objects are those of the deployments that could be read.
	Objects status.Counts
}

// ClusterTotals counts the deployments of one cluster.
type ClusterTotals struct {
	Totals

	IsReachable bool
	// Message is why the cluster, or deployments on it, could not be read, a line for each cause.
	Message string
}

// Overview counts the wanted deployments. A deployment that is neither read nor among the failures
// counts as not read.
func (o Observation) Overview(wanted []target.Deployment) Overview {
	overview := Overview{Totals: o.totals(wanted), Clusters: map[string]ClusterTotals{}}
	byCluster := map[string][]target.Deployment{}
	for _, d := range wanted {
		byCluster[d.Cluster] = append(byCluster[d.Cluster], d)
	}
	ready := 0
	for name, deployments := range byCluster {
		cluster := ClusterTotals{Totals: o.totals(deployments)}
		cluster.IsReachable, cluster.Message = o.failuresOf(name)
		overview.Clusters[name] = cluster
		if cluster.State == status.Ready {
			ready++
		}
	}
	overview.ReadyClusters = fmt.Sprintf("%d/%d", ready, len(byCluster))
	overview.Unreachable, overview.Unobserved = o.unread()
	return overview
}

func (o Observation) totals(wanted []target.Deployment) Totals {
	totals := Totals{Deployments: len(wanted)}
	states := make([]status.State, 0, len(wanted))
	for _, d := range wanted {
		record, read := o.Records[KeyOf(d)]
		if !read {
			continue
		}
		states = append(states, record.State)
		totals.Objects = totals.Objects.Plus(record.Counts)
		if record.State == status.Ready {
			totals.Ready++
		}
		if record.State == status.ErrApplied {
			totals.Failed++
		}
	}
	totals.State = status.Worst(states...)
	if totals.State == status.Ready && len(states) < len(wanted) {
		totals.State = ""
	}
	return totals
}

// failuresOf reports whether a cluster could be read, and returns what could not be read, each
// cause once.
func (o Observation) failuresOf(cluster string) (isReachable bool, message string) {
	isReachable = true
	var causes status.Grouped
	for _, failure := range o.Failures {
		if failure.Cluster != cluster {
			continue
		}
		cause := strings.Join(strings.Fields(status.Cause(failure.Err)), " ")
		if failure.Bundle == "" {
			isReachable = false
		}
		causes.Add(cause, failure.Bundle)
	}
	var lines []string
	causes.Each(func(cause string, bundles []string) {
		if bundles[0] != "" { // A failure of the whole cluster names no bundle.
			cause = strings.Join(bundles, ", ") + ": " + cause
		}
		lines = append(lines, cause)
	})
	return isReachable, strings.Join(lines, "\n")
}

// unread returns the clusters, and the deployments on other clusters, that could not be read.
func (o Observation) unread() (clusters, deployments []string) {
	for _, failure := range o.Failures {
		if failure.Bundle == "" {
			clusters = append(clusters, failure.Cluster)
			continue
		}
		deployments = append(deployments, target.Key(failure.Cluster, failure.Bundle))
	}
	slices.Sort(clusters)
	slices.Sort(deployments)
	return slices.Compact(clusters), slices.Compact(deployments)
}
