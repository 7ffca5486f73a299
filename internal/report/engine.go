package report

import "github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"

// DeliveredOtherwise reports deployments that a Fleet delivered and that are now to be delivered
// directly, or the reverse.
func DeliveredOtherwise(name string, deployments []deploy.Key, byEngine bool) []Message {
	if len(deployments) == 0 {
		return nil
	}
	was, is := "by the engine", "directly: the provider has no engine any more"
	if byEngine {
		was, is = "directly", "by the engine of the provider"
	}
	return failure("Target "+name+": its deployments were delivered in another way",
		"These were delivered "+was+", and are now to be delivered "+is+". Moving them is not supported. Nothing was read or changed.\n\nDeployments: "+
			deploy.ListOf(deployments)+"\n\nNext: Restore the provider block. To change the way, destroy the target first, or create another one.")
}

// NotWithEngine reports an attribute of a target that an engine cannot do.
func NotWithEngine(name, attribute, reason string) []Message {
	return failureAt([]any{attribute}, "Target "+name+": "+attribute+" is not supported with an engine", reason)
}

// GroupsWithEngine reports groups of the configuration that would not count.
func GroupsWithEngine(reason string) []Message {
	return failureAt([]any{"cluster_groups"}, "cluster_groups has no effect", reason)
}
