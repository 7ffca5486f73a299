package report

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
)

// DeliveryMoves reports deployments that are moved to an engine or from an engine.
func DeliveryMoves(name string, moved []deploy.Key, toEngine bool) []Message {
	switch {
	case len(moved) == 0:
		return nil
	case toEngine:
		return warning(fmt.Sprintf("Target %s: deployments move to the engine: %d", name, len(moved)),
			"The apply writes them into Bundles, and Fleet's agents take over their releases. Release, namespace and history stay, and pods are not restarted. "+
				"Hooks of an upgrade run.\n\nDeployments: "+deploy.ListOf(moved))
	}
	return warning(fmt.Sprintf("Target %s: deployments leave the engine: %d", name, len(moved)),
		"The apply makes Fleet let go of each of them with its objects in place. Then the provider takes its release over. Pods are not restarted. "+
			"Hooks of an upgrade run. Clusters whose agent is offline fail.\n\nDeployments: "+deploy.ListOf(moved))
}

// CannotMove reports deployments that are not wanted any more and that the provider cannot
// remove. toEngine is true if the provider has an engine and deployed them directly. It is
// false if an engine delivered them and has deliver = false now.
func CannotMove(name string, deployments []deploy.Key, toEngine bool) []Message {
	switch {
	case len(deployments) == 0:
		return nil
	case toEngine:
		return failure("Target "+name+": deployments are not in the engine",
			"The provider deployed them directly, and its engine does not have them: they are not wanted any more, or Fleet has no Cluster of this name. "+
				"An engine can neither update nor remove them. Nothing is changed.\n\nDeployments: "+deploy.ListOf(deployments)+
				"\n\nNext: Register the clusters at Fleet under these names, and move the deployments before they are removed. "+
				"Or restore the provider block without engine, and remove them with it.")
	}
	return failure("Target "+name+": deployments of the engine are not wanted any more",
		"With deliver = false in its engine, the provider only takes over deployments that are still wanted. Nothing is changed.\n\nDeployments: "+deploy.ListOf(deployments)+
			"\n\nNext: Remove deliver = false, and remove the deployments by the engine. Or select them again, and remove them after the move.")
}

// Taken reports deployments whose releases another owner delivers by the same Fleet.
func Taken(name string, taken map[deploy.Key]error) []Message {
	var causes []string
	for _, cause := range deploy.GroupByCause(deploy.FailuresOf(taken)) {
		causes = append(causes, Sentence(errors.New(cause.Text))+"\nDeployments: "+deploy.ListOf(cause.Keys()))
	}
	return failureIf(len(taken) > 0, "Target "+name+": another owner delivers "+deploy.SummaryOf(slices.SortedFunc(maps.Keys(taken), deploy.Key.Compare)),
		strings.Join(causes, "\n\n")+"\n\nFleet would install both in turn, and the removal of one would remove the objects of the other. Nothing is changed."+
			"\n\nNext: Remove these clusters from the other Bundle, with keepResources to keep the objects, and plan again. Or give the releases other names.")
}

// TakenUnknown reports that other owners could not be looked for.
func TakenUnknown(name string, err error) []Message {
	return warning("Target "+name+": other owners of the releases are not known",
		Sentence(err)+"\n\nThe apply checks whether another Bundle of the Fleet delivers these releases before it writes.")
}

// WithoutEngine reports deployments that an engine delivered and would continue to deploy.
func WithoutEngine(name string, deployments []deploy.Key) []Message {
	return failureIf(len(deployments) > 0, "Target "+name+": deployments were delivered by an engine",
		"The provider block has no engine any more, so Fleet's agents would go on to deploy them. Nothing is changed.\n\nDeployments: "+deploy.ListOf(deployments)+
			"\n\nNext: Restore engine in the provider block. To deliver directly, set deliver = false in it until an apply has succeeded.")
}

// NotWithEngine reports an attribute of a target that an engine does not support.
func NotWithEngine(name, attribute, reason string) []Message {
	return failureAt([]any{attribute}, "Target "+name+": "+attribute+" is not supported with an engine", reason)
}

// GroupsWithEngine reports groups of the configuration that have no effect with an engine.
func GroupsWithEngine(reason string) []Message {
	return failureAt([]any{"cluster_groups"}, "cluster_groups has no effect", reason)
}
