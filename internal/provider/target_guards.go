package provider

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// guardRemovals stops a plan that removes more than it may.
func (m *targetModel) guardRemovals(removals, before, wanted int, diags *diag.Diagnostics) {
	name := m.Name.ValueString()
	if wanted == 0 && before > 0 && !m.AllowEmpty.ValueBool() && !m.AllowEmpty.IsUnknown() {
		diags.AddAttributeError(path.Root("targets"), "Target "+name+": nothing would be left",
			fmt.Sprintf("No cluster is matched or there are no bundles, so all %d deployments would be removed. "+
				"Set allow_empty = true if that is meant.", before))
		return
	}
	if m.MaxRemovals.IsNull() || m.MaxRemovals.IsUnknown() {
		return
	}
	limit, err := removalLimit(m.MaxRemovals.ValueString(), before)
	if err != nil {
		diags.AddAttributeError(path.Root("max_removals"), "Invalid number of removals", sentence(err))
		return
	}
	if removals > limit {
		diags.AddAttributeError(path.Root("max_removals"), fmt.Sprintf("Target %s: %d deployments would be removed", name, removals),
			fmt.Sprintf("max_removals = %q allows %d of %d. Nothing was changed on any cluster. Raise it for this change if that is meant.",
				m.MaxRemovals.ValueString(), limit, before))
	}
}

// removalLimit is how many of so many deployments "5" or "10%" allows to be
// removed; a percentage is rounded down.
func removalLimit(text string, of int) (int, error) {
	number, isPercentage := strings.CutSuffix(strings.TrimSpace(text), "%")
	limit, err := strconv.Atoi(number)
	if err != nil || limit < 0 || (isPercentage && limit > 100) {
		return 0, fmt.Errorf("%q is neither a number of deployments nor a percentage from 0%% to 100%%", text)
	}
	if isPercentage {
		return of * limit / 100, nil
	}
	return limit, nil
}

// guardDestroy stops a plan that destroys a protected target.
func (m *targetModel) guardDestroy(diags *diag.Diagnostics) {
	if m.DeletionProtection.ValueBool() {
		diags.AddAttributeError(path.Root("deletion_protection"), "Target "+m.Name.ValueString()+" is protected from deletion",
			fmt.Sprintf("All %d deployments would be removed. Set deletion_protection = false, apply, and then destroy it.", len(m.records())))
	}
}

// forgetMissing takes deployments on clusters that the provider no longer knows
// and cannot recall out of those to be removed, or reports them, as on_missing
// says.
func (r *targetResource) forgetMissing(name string, removals []deploy.Key, diags *diag.Diagnostics) []deploy.Key {
	if r.fleet.clustersUnknown {
		return removals
	}
	var found []deploy.Key
	missing := map[string]bool{}
	for _, key := range removals {
		if r.fleet.member(key.Cluster) != nil {
			found = append(found, key)
			continue
		}
		missing[key.Cluster] = true
	}
	for _, cluster := range slices.Sorted(maps.Keys(missing)) {
		if r.fleet.onMissing == forgetMissing {
			warnForgotten(name, cluster, "The provider's clusters no longer hold it and on_missing is \"forget\"", diags)
			continue
		}
		if r.fleet.onMissing == "" {
			continue // The apply knows.
		}
		diags.AddAttributeError(path.Root("targets"), fmt.Sprintf("Target %s: cluster %s is gone from the provider's clusters", name, cluster),
			"It still has deployments of this target, and its connection needs a secret that is not kept, so they cannot be removed. "+
				"Put its entry back for one apply, or set on_missing = \"forget\" on the provider to leave them where they are.")
	}
	return found
}

func warnForgotten(name, cluster, why string, diags *diag.Diagnostics) {
	diags.AddWarning(fmt.Sprintf("Target %s: deployments on cluster %s are forgotten", name, cluster),
		why+": the deployments leave the state and stay on the cluster.")
}

// forgetUnreachable drops removals that failed because a cluster whose entry is
// gone does not answer any more, if on_missing says so.
func (r *targetResource) forgetUnreachable(name string, outcome *deploy.Outcome, diags *diag.Diagnostics) {
	if r.fleet.onMissing != forgetMissing {
		return
	}
	forgotten := map[string]bool{}
	outcome.Failures = slices.DeleteFunc(outcome.Failures, func(failure deploy.Failure) bool {
		_, entered := r.fleet.clusters[failure.Cluster]
		if entered || !isOutOfReach(failure.Err) {
			return false
		}
		forgotten[failure.Cluster] = true
		delete(outcome.Records, deploy.Key{Cluster: failure.Cluster, Bundle: failure.Bundle})
		return true
	})
	for _, cluster := range slices.Sorted(maps.Keys(forgotten)) {
		warnForgotten(name, cluster, "The provider's clusters no longer hold it, it cannot be reached as it was before, and on_missing is \"forget\"", diags)
	}
}

// isOutOfReach says whether a cluster could not be asked at all.
func isOutOfReach(err error) bool {
	var (
		unreachable *status.UnreachableError
		denied      *status.DeniedError
		other       *deploy.OtherClusterError
		unusable    *unusableConnectionError
	)
	return errors.As(err, &unreachable) || errors.As(err, &denied) || errors.As(err, &other) || errors.As(err, &unusable)
}
