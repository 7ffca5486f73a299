package report

import (
	"fmt"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// maxListed is how many clusters, names and lines a list of the summary has.
const maxListed = 10

// Change reports what a plan does to the deployments of a target: Terraform itself counts
// resources, and a target with a thousand releases is one resource.
func Change(name string, planned plan.Summary) []Message {
	if !planned.Counts.Any() {
		return nil
	}
	summary := "Target " + name + ": "
	if number := planned.Uninstalls(); number > 0 {
		summary += status.Number(number, "release") + " will be uninstalled, "
	}
	var parts []string
	if planned.Destroys {
		parts = append(parts, ifRenamed+" Then no release is uninstalled.")
	}
	if planned.Replaces {
		parts = append(parts, "If Terraform replaces this target, its releases stay: the new target has those that it wants. "+ifRenamed)
	}
	if planned.Stages != "" {
		parts = append(parts, planned.Stages)
	}
	if len(planned.Namespaces) > 0 {
		parts = append(parts, "New namespaces:\n"+listOf(linesOf(planned.Namespaces)))
	}
	if len(planned.Uninstalled) > 0 {
		parts = append(parts, "Uninstalled:\n"+listOf(linesOf(planned.Uninstalled)))
	}
	return warning(summary+"deployments "+planned.Counts.String(), strings.Join(parts, "\n\n"))
}

// linesOf returns a line for each set of clusters with the same names.
func linesOf(all []plan.OnClusters) []string {
	lines := make([]string, len(all))
	for i, same := range all {
		lines[i] = folded(same.Clusters) + ": " + folded(same.Names)
	}
	if len(lines) <= maxListed {
		return lines
	}
	clusters := 0
	for _, same := range all[maxListed:] {
		clusters += len(same.Clusters)
	}
	return append(lines[:maxListed], "and on "+status.Number(clusters, "more cluster"))
}

// folded joins names. Of many names it has the first ones, and the number of the others.
func folded(names []string) string {
	if len(names) <= maxListed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxListed], ", "), len(names)-maxListed)
}
