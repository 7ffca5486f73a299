package deploy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// A detail names up to maxInDetail deployments one by one. A summary, which is one line, names up
// to maxInSummary.
const (
	maxInDetail  = 10
	maxInSummary = 3
)

// KeysOf returns the deployments of failures, each once, in their order. A failure of a cluster as
// a whole has no bundle.
func KeysOf(failures []Failure) []Key {
	found := make([]Key, len(failures))
	for i, failure := range failures {
		found[i] = Key{Cluster: failure.Cluster, Bundle: failure.Bundle}
	}
	return slices.Compact(found)
}

// SummaryOf names deployments or clusters in a few words.
func SummaryOf(keys []Key) string {
	if len(keys) <= maxInSummary {
		return Joined(keys)
	}
	if keys[0].Bundle == "" {
		return fmt.Sprintf("%d clusters", len(keys))
	}
	return fmt.Sprintf("%d deployments", len(keys))
}

// ListOf names deployments or clusters in full: many deployments as the bundles on
// the clusters that share them, since what fails on a fleet fails on much of it.
//
//	20 bundles on 2 clusters (eu-1, eu-2): app-1, app-2, ...
func ListOf(keys []Key) string {
	if len(keys) <= maxInDetail || keys[0].Bundle == "" {
		return Joined(keys)
	}
	bundles := map[string][]string{}
	for _, key := range keys {
		bundles[key.Cluster] = append(bundles[key.Cluster], key.Bundle)
	}
	clusters := map[string][]string{}
	for _, cluster := range slices.Sorted(maps.Keys(bundles)) {
		shared := strings.Join(slices.Sorted(slices.Values(bundles[cluster])), ", ")
		clusters[shared] = append(clusters[shared], cluster)
	}
	var lines []string
	for _, shared := range slices.Sorted(maps.Keys(clusters)) {
		on := clusters[shared]
		lines = append(lines, fmt.Sprintf("\n  - %s on %s (%s): %s",
			status.Number(len(bundles[on[0]]), "bundle"), status.Number(len(on), "cluster"), strings.Join(on, ", "), shared))
	}
	return strings.Join(lines, "")
}

// Joined names deployments or clusters.
func Joined(keys []Key) string {
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = key.Cluster
		if key.Bundle != "" {
			names[i] = key.String()
		}
	}
	return strings.Join(names, ", ")
}
