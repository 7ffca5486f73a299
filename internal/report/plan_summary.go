package report

import (
	"fmt"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// maxUninstalled is how many clusters, releases and lines a list of uninstalled releases has.
const maxUninstalled = 10

// Change reports what a plan does to the deployments of a target: Terraform itself counts
// resources, and a target with a thousand releases is one resource.
func Change(name string, planned deploy.PlanSummary) []Message {
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
	if len(planned.Uninstalled) > 0 {
		parts = append(parts, "Uninstalled:\n"+listOf(uninstalledLines(planned.Uninstalled)))
	}
	return warning(summary+"deployments "+planned.Counts.String(), strings.Join(parts, "\n\n"))
}

// uninstalledLines returns a line for each set of clusters that lose the same releases.
func uninstalledLines(uninstalled []deploy.UninstalledReleases) []string {
	lines := make([]string, len(uninstalled))
	for i, lost := range uninstalled {
		lines[i] = folded(lost.Clusters) + ": " + folded(lost.Releases)
	}
	if len(lines) <= maxUninstalled {
		return lines
	}
	clusters := 0
	for _, lost := range uninstalled[maxUninstalled:] {
		clusters += len(lost.Clusters)
	}
	return append(lines[:maxUninstalled], "and on "+status.Number(clusters, "more cluster"))
}

// folded joins names. Of many names it has the first ones, and the number of the others.
func folded(names []string) string {
	if len(names) <= maxUninstalled {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxUninstalled], ", "), len(names)-maxUninstalled)
}
