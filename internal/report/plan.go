package report

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/preview"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/state"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Unknown reports that the deployments of a target are not known while planning.
func Unknown(name, reason string) []Message {
	return warning("Target "+name+": deployments are known only after the apply",
		"Not known yet: "+reason+".\n\nTo see the deployments in the plan, use values that do not depend on resources still to be created.")
}

// StillUnknown reports that a value is not known in an apply.
func StillUnknown(name, reason string) []Message {
	return failure("Cannot deploy target "+name, "Still unknown: "+reason+".")
}

// Plan reports what a plan holds, forgets and refuses. configured are the identities of
// clusters that the configuration sets.
func Plan(name string, planned *plan.Plan, desired plan.Desired, prior map[deploy.Key]deploy.Record, onMissing deploy.OnMissing, configured map[string]string) []Message {
	var overlapping, apart [][]string
	if planned.Counts.Any() {
		overlapping, apart = deploy.SplitSame(deploy.SameClusters(state.ExpectedUIDs(prior, nil, configured)), desired.Deployments)
	}
	return slices.Concat(
		MissingClusters(name, planned.Unreachable, onMissing),
		Exceeded(name, planned.Exceeded, planned.Counts.Removed),
		Held(name, slices.Concat(planned.Held, desired.Undeployed(prior))),
		OverlappingClusters(name, overlapping),
		SameClusters(name, apart),
		UnknownFields(name, planned.UnknownFields),
		UncheckedSchemas(name, planned.UncheckedSchemas),
		PlanFailures(name, planned.Faults),
		Unconnected(planned.Unconnected),
		withNotRendered(PlanFailures(name, planned.Failures), planned.NotRendered),
		Policies(name, planned.Violations),
	)
}

// Preview reports what a plan found on clusters. undecided is true if take_ownership or
// take_ownership_of is not known yet.
func Preview(name string, undecided bool, planned *plan.Plan, found preview.Reports) []Message {
	return slices.Concat(
		Change(name, found.Summary),
		MissingDependencies(name, found.MissingDependencies),
		Ownership(name, undecided, found.Ownership),
		Moves(name, planned.Moves),
		MissingValues(name, found.MissingValues),
		UnservedKinds(name, found.Lacks.Kinds),
		Definitions(name, found.Definitions),
		Hooks(name, found.Hooks),
		Immutable(name, found.Diff.Immutable),
		Diff(name, found.Diff),
	)
}

// RuleFailure reports an error in the rules of a target, at the rule.
func RuleFailure(name string, err error) []Message {
	at := []any{"targets"}
	if rule, ok := errors.AsType[*target.RuleError](err); ok {
		at = append(at, rule.Index)
	}
	return failureAt(at, "Target "+name+": cannot select its clusters", Sentence(err)+"\n\n"+notBegun)
}

// UnmatchedRules reports rules that match no cluster.
func UnmatchedRules(name string, rules []int, clusters []string) []Message {
	var messages []Message
	known := "The provider's clusters are: " + strings.Join(clusters, ", ") + "."
	if len(clusters) == 0 {
		known = "The provider has no clusters. If the clusters are in another provider block, set provider of the target to it."
	}
	for _, index := range rules {
		messages = append(messages, Message{
			Severity: Warning, Attribute: []any{"targets", index},
			Summary: fmt.Sprintf("Target %s: rule %d matches no cluster", name, index+1),
			Detail:  known,
		})
	}
	return messages
}

// PlanFailures reports deployments that cannot be planned, one message for each cause.
func PlanFailures(name string, failures []deploy.Failure) []Message {
	var messages []Message
	for _, cause := range deploy.GroupByCause(failures) {
		planned := cause.Keys()
		messages = append(messages, failure("Target "+name+": cannot plan "+deploy.SummaryOf(planned),
			"Deployments: "+deploy.ListOf(planned)+"\n\n"+Sentence(errors.New(cause.Text))+"\n\n"+notBegun+" Correct the bundle and plan again.")...)
	}
	return messages
}

// ShortenedTimeouts reports bundles that ask for more time than the target permits.
func ShortenedTimeouts(name string, bundles status.Grouped, longest time.Duration) []Message {
	return warningIf(!bundles.IsEmpty(), "Target "+name+": timeouts of bundles are shortened",
		"The target permits "+longest.String()+" for one deployment:"+bundles.List()+
			"\n\nThis is half of timeouts, or deployment_timeout if that is longer. To permit more, raise timeouts of the target.")
}

// withNotRendered adds deployments to the last of the messages, which reports the failure after
// which nothing was rendered.
func withNotRendered(messages []Message, keys []deploy.Key) []Message {
	if len(keys) > 0 && len(messages) > 0 {
		messages[len(messages)-1].Detail += "\n\nNot rendered after this failure: " + deploy.ListOf(keys)
	}
	return messages
}

// RenderFailures reports deployments that a data source cannot render, and those that it has not
// rendered after a failure.
func RenderFailures(failures []deploy.Failure, notRendered []deploy.Key) []Message {
	var messages []Message
	for _, cause := range deploy.GroupByCause(failures) {
		failed := cause.Keys()
		messages = append(messages, failure("Cannot render "+deploy.SummaryOf(failed),
			"Deployments: "+deploy.ListOf(failed)+"\n\nCause: "+cause.Text)...)
	}
	return withNotRendered(messages, notRendered)
}

// InvalidWriteOnly reports each of the joined errors of write-only input at its attribute.
func InvalidWriteOnly(name string, err error) []Message {
	var messages []Message
	for _, err := range errorsOf(err) {
		var at []any
		if named, ok := errors.AsType[*target.WriteOnlyError](err); ok {
			at = []any{named.Attribute}
		}
		messages = append(messages, failureAt(at, "Target "+name+": invalid write-only input", Sentence(err)+"\n\n"+notBegun)...)
	}
	return messages
}

// Exceeded reports a change that removes more deployments than allowed.
func Exceeded(name string, err error, removals int) []Message {
	var (
		empty   *plan.EmptyError
		tooMany *plan.TooManyRemovalsError
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &empty):
		return failureAt([]any{"targets"}, "Target "+name+": all deployments would be removed",
			Sentence(err)+" If you intend this, set allow_empty = true.")
	case errors.As(err, &tooMany):
		return failureAt([]any{"max_removals"}, fmt.Sprintf("Target %s: %d deployments would be removed", name, removals),
			fmt.Sprintf("max_removals = %q allows %d of %d. "+notBegun+" If you intend this, raise it for this change.", tooMany.Max, tooMany.Limit, tooMany.Before))
	}
	return failureAt([]any{"max_removals"}, "Invalid number of removals", Sentence(err))
}

// Protected reports that a plan destroys a protected target.
func Protected(name string, deployments int) []Message {
	return failureAt([]any{"deletion_protection"}, "Target "+name+" is protected from deletion",
		fmt.Sprintf("All %d deployments would be removed. Set deletion_protection = false, apply, and then destroy it.", deployments))
}

// Held reports which deployments the plan leaves as they are, and why.
func Held(name string, held []deploy.Failure) []Message {
	return warningIf(len(held) > 0, "Target "+name+": deployments are held",
		heldLines(held)+"\nExisting deployments stay as they are, and new ones are not installed. A later apply deploys them.")
}

// MissingDependencies warns of dependencies that do not exist. It is not an error: they can
// exist when the plan is applied, and the apply checks again.
func MissingDependencies(name string, failures []deploy.Failure) []Message {
	if len(failures) == 0 {
		return nil
	}
	return warning("Target "+name+": bundles that deployments depend on are not deployed",
		causeLines(failures)+"\nThese deployments will fail unless these bundles are deployed by then. "+advice(failures[0].Err, deploy.KeysOf(failures)))
}

// causeLines returns one line for each cause.
func causeLines(failures []deploy.Failure) string {
	var lines strings.Builder
	for _, cause := range deploy.GroupByCause(failures) {
		fmt.Fprintf(&lines, "  - %s: %s\n", deploy.ListOf(cause.Keys()), cause.Text)
	}
	return lines.String()
}

// Unconnected reports clusters whose connections cannot be read.
func Unconnected(unconnected map[string]error) []Message {
	var messages []Message
	for _, cluster := range slices.Sorted(maps.Keys(unconnected)) {
		messages = append(messages, failure("Cannot connect to cluster "+cluster, Sentence(unconnected[cluster])+
			"\n\n"+notBegun+" Correct the entry "+cluster+" in the provider's clusters.")...)
	}
	return messages
}
