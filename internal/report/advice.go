package report

import (
	"errors"
	"fmt"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/rollout"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// advice says what to do next about an error.
func advice(err error) string {
	var (
		unreachable *status.UnreachableError
		denied      *status.DeniedError
		foreign     *release.ForeignError
		missing     *status.MissingClusterError
		lacking     *rollout.MissingDependencyError
		held        *rollout.HeldError
		other       *deploy.OtherClusterError
		unlisted    *release.UnlistedError
	)
	switch {
	case errors.As(err, &unreachable):
		return "Bring the cluster back, or take it out of the target's rules, and apply again. " +
			"If it is gone for good, take its entry out of the provider and set on_missing = \"forget\"."
	case errors.As(err, &denied):
		return "Check the credentials of the cluster, the rights of its user, and its quotas and policies; then apply again."
	case errors.As(err, &other):
		return "Correct the connection of the cluster. If the cluster was replaced on purpose, set uid in its entry to the UID of the new one."
	case errors.As(err, &unlisted):
		return fmt.Sprintf("Apply again when the API server lists all Secrets. If the release is gone, remove what is left of its record, which is the Secret "+
			"sh.helm.release.v1.RELEASE.vREVISION, such as sh.helm.release.v1.%s.v%d in namespace %s.", unlisted.Release, unlisted.Revision, unlisted.Namespace)
	case errors.As(err, &foreign) && foreign.Ownership == release.OtherTool:
		return "Set take_ownership = true on the target to write over it or to remove it, or leave the release to who made it: take the bundle or the cluster out of the target, or the target out of the state (terraform state rm)."
	case errors.As(err, &foreign) && (foreign.Ownership == release.OtherTarget || foreign.Ownership == release.SameName):
		return "Take the release out of the other target and apply again, give both targets the same adoption_key, or set take_ownership = true."
	case errors.As(err, &foreign):
		return "Set take_ownership = true on the target to take the release over, or choose another release name."
	case errors.As(err, &missing):
		return "Put the cluster's entry back for one apply, or set on_missing = \"forget\" on the provider."
	case errors.As(err, &lacking):
		return "Add that bundle to the target, or deploy it by another target of the same owner and name that one in depends_on."
	case errors.As(err, &held):
		return "Correct what holds it up and apply again: the next apply goes on where this one stopped."
	}
	return "Correct the cause and apply again: only what failed is tried again."
}
