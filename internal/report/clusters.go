package report

import (
	"errors"
	"fmt"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// MissingClusters reports clusters that the provider no longer has and that still have
// deployments to be removed. If on_missing is unknown, the apply reports them.
func MissingClusters(name string, clusters []string, onMissing deploy.OnMissing) []Message {
	var messages []Message
	for _, cluster := range clusters {
		switch onMissing {
		case deploy.ForgetMissing:
			messages = append(messages, forgotten(name, cluster, "The provider's clusters no longer contain it and on_missing is \"forget\"")...)
		case deploy.MissingIsError:
			messages = append(messages, failureAt([]any{"targets"}, fmt.Sprintf("Target %s: cluster %s is not in the provider's clusters any more", name, cluster),
				"This target still has deployments on the cluster. They cannot be removed, because the connection needs a secret that is not stored. "+
					"Restore its entry for one apply, or set on_missing = \"forget\" on the provider to leave the deployments on the cluster.")...)
		case deploy.OnMissingUnknown:
		}
	}
	return messages
}

// UnreachableForgotten reports clusters whose entries are removed and that do not respond any
// more. Their deployments are removed from the state.
func UnreachableForgotten(name string, clusters []string) []Message {
	var messages []Message
	for _, cluster := range clusters {
		messages = append(messages, forgotten(name, cluster, "The provider's clusters no longer contain it, it is unreachable with its former connection, and on_missing is \"forget\"")...)
	}
	return messages
}

func forgotten(name, cluster, why string) []Message {
	return warning(fmt.Sprintf("Target %s: deployments on cluster %s are forgotten", name, cluster),
		why+". Its deployments are removed from the state and stay on the cluster.")
}

// SameClusters reports entries of clusters that connect to one cluster and deploy different releases
// there, as far as the identities are known.
func SameClusters(name string, same [][]string) []Message {
	summary, detail := sameClusters(name, same)
	return warningIf(len(same) > 0, summary, detail+"Two releases of one name under these entries would be one release.")
}

// OverlappingClusters reports entries of clusters that connect to one cluster and deploy one release
// there.
func OverlappingClusters(name string, overlapping [][]string) []Message {
	summary, detail := sameClusters(name, overlapping)
	return failureIf(len(overlapping) > 0, summary, detail+"The target deploys the same releases under these entries, so they would overwrite each other. "+
		notBegun+" Keep one of the entries.")
}

func sameClusters(name string, same [][]string) (summary, detail string) {
	var lines []string
	for _, names := range same {
		lines = append(lines, strings.Join(names, ", "))
	}
	return "Target " + name + ": several entries of clusters connect to one cluster",
		"The namespace kube-system has the same UID for these entries:\n" + listOf(lines) + "\n\n"
}

// ReplacedClusters reports clusters whose identity changed.
func ReplacedClusters(clusters []string) []Message {
	var messages []Message
	for _, cluster := range clusters {
		messages = append(messages, warning(fmt.Sprintf("Cluster %s is another cluster than before", cluster),
			"Its connection now leads to a cluster with another UID. Deployments that this cluster lacks are planned as added. Nothing is removed from the former cluster.")...)
	}
	return messages
}

// Unobserved reports clusters that could not be observed. One whose configuration is wrong is an
// error in any case: it is not unreachable, and its entry can be corrected.
func Unobserved(name string, failures []deploy.Failure, asError bool) []Message {
	var messages []Message
	for _, cause := range deploy.GroupByCause(failures) {
		unseen := cause.Keys()
		summary := fmt.Sprintf("Target %s: cannot read %s", name, deploy.SummaryOf(unseen))
		detail := fmt.Sprintf("Clusters: %s\n\nCause: %s\n\n", deploy.ListOf(unseen), cause.Text)
		if unusable, ok := errors.AsType[*status.ConnectionError](cause.Failures[0].Err); ok && unusable.Invalid {
			messages = append(messages, failure(summary, detail+"Correct the connection in the provider's clusters. Nothing was changed.")...)
			continue
		}
		if asError {
			messages = append(messages, failure(summary, detail+"The provider's on_unreachable is \"error\". "+advice(cause.Failures[0].Err, unseen))...)
			continue
		}
		detail += "The state keeps their deployments as last read. None of them counts as removed. " +
			"A change planned for these clusters fails if the cause persists during the apply. All other changes are applied."
		if other, ok := errors.AsType[*deploy.OtherClusterError](cause.Failures[0].Err); ok {
			detail += "\n\n" + waysOut(other)
		}
		if unlistable, ok := errors.AsType[*release.ListDeniedError](cause.Failures[0].Err); ok {
			detail += "\n\n" + listingRights(unlistable)
		}
		messages = append(messages, warning(summary, detail)...)
	}
	return messages
}
