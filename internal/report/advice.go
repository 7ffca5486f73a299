package report

import (
	"errors"
	"fmt"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/immutable"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/rollout"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// advice returns what to do next about an error of deployments or clusters.
func advice(err error, of []deploy.Key) string {
	var (
		unlistable *release.ListDeniedError
		foreign    *release.ForeignError
		other      *deploy.OtherClusterError
		unlisted   *release.UnlistedError
		fixed      *immutable.Error
	)
	switch {
	case is[*status.UnreachableError](err):
		return "Make the cluster reachable and apply again. If it is down for a longer time, set paused = true in its entry. " +
			"If the cluster no longer exists, remove its entry from the provider and set on_missing = \"forget\"."
	case errors.As(err, &unlistable):
		return listingRights(unlistable) + " Then apply again."
	case is[*release.OutsideError](err):
		return "Add the namespace to namespaces of the cluster's entry, and permit its user to list Secrets there. Then apply again."
	case is[*status.DeniedError](err):
		return "Check the credentials of the cluster, the permissions of its user, and its quotas and policies. Then apply again."
	case is[*status.ExhaustedError](err):
		return "Delete Services that are no longer needed, or extend the ranges of the cluster for their addresses or ports. Then apply again."
	case errors.As(err, &other):
		return waysOut(other)
	case errors.As(err, &unlisted):
		return fmt.Sprintf("Apply again when the API server lists all Secrets. If the release is gone, delete the remaining Secrets of its record. Their names are "+
			"sh.helm.release.v1.RELEASE.vREVISION, such as sh.helm.release.v1.%s.v%d in namespace %s.", unlisted.Release, unlisted.Revision, unlisted.Namespace)
	case errors.As(err, &foreign) && foreign.Ownership == release.OtherTool:
		return "To overwrite or remove the release, set " + consentFor(of) + " on the target. A removal then leaves it if its record names another target. To leave it to any owner, remove the target from the state (terraform state rm)."
	case errors.As(err, &foreign) && (foreign.Ownership == release.OtherTarget || foreign.Ownership == release.SameName):
		return "Remove the release from the other target and apply again, give both targets the same adoption_key, or set " + consentFor(of) + "."
	case errors.As(err, &foreign):
		return "Set " + consentFor(of) + " on the target to take over the release, or choose another release name."
	case is[*status.MissingClusterError](err):
		return "Restore the cluster's entry for one apply, or set on_missing = \"forget\" on the provider."
	case is[*rollout.MissingDependencyError](err):
		return "Add that bundle to the target. Or deploy it with another target of the same owner, and list that target in depends_on."
	case is[*plan.ClosedWindowError](err):
		return "Plan again: the plan then shows what is held, and what can be changed now. Or set windows_override on the provider."
	case errors.As(err, &fixed):
		return immutable.WaysOut(fixed.Changes)
	case is[*rollout.HeldError](err):
		return "Correct the cause and apply again. The next apply continues where this one stopped."
	}
	return "Correct the cause and apply again. Only failed deployments are retried."
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// listingRights is the advice about a cluster that refuses to list release records.
func listingRights(err *release.ListDeniedError) string {
	if len(err.Namespaces) > 0 {
		return "Permit the user to list Secrets in all namespaces of the cluster's attribute namespaces, or remove those without releases from it."
	}
	return "Permit the user to list Secrets in all namespaces. If it may do so in some namespaces only, set namespaces in the entry of the cluster."
}

// waysOut is the advice about a connection that leads to another cluster than before. Either
// connection can be the wrong one.
func waysOut(other *deploy.OtherClusterError) string {
	if other.Got == "" {
		return "Correct the connection of the cluster, or permit its user to read the namespace kube-system."
	}
	return fmt.Sprintf("If this connection is wrong, correct it. If the former connection was wrong, or the cluster was replaced, set uid = %q in its entry. "+
		"The next apply then adds the deployments on this cluster, and those on the former cluster stay there. "+
		"To remove those first, restore the former connection, exclude the cluster from the target's rules, and apply.", other.Got)
}
