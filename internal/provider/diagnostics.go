package provider

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// sentence words an error as a sentence.
func sentence(err error) string {
	text := err.Error()
	first, size := utf8.DecodeRuneInString(text)
	text = string(unicode.ToUpper(first)) + text[size:]
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}

// addProblems reports what is worth knowing about files that were read.
func addProblems(diags *diag.Diagnostics, name string, problems []fleetyaml.Problem) {
	if len(problems) == 0 {
		return
	}
	lines := make([]string, len(problems))
	for i, problem := range problems {
		lines[i] = "  - " + problem.String()
	}
	diags.AddWarning(fmt.Sprintf("Bundles of %s may not be what was meant", name), strings.Join(lines, "\n"))
}

// cause is what several failures have in common.
type cause struct {
	text     string
	failures []deploy.Failure
}

// groupByCause puts failures with the same cause together, in the order in
// which causes first appear.
func groupByCause(failures []deploy.Failure) []cause {
	var causes []cause
	for _, failure := range failures {
		text := causeText(failure.Err)
		i := slices.IndexFunc(causes, func(c cause) bool { return c.text == text })
		if i < 0 {
			causes = append(causes, cause{text: text})
			i = len(causes) - 1
		}
		causes[i].failures = append(causes[i].failures, failure)
	}
	return causes
}

// causeText is the text of an error without the cluster it happened on, so that
// one cause on many clusters reads alike.
func causeText(err error) string {
	if unreachable, ok := errors.AsType[*status.UnreachableError](err); ok {
		return fmt.Sprintf("the cluster does not answer (%v)", withoutURL(unreachable.Err))
	}
	if denied, ok := errors.AsType[*status.DeniedError](err); ok {
		return fmt.Sprintf("the cluster refuses the request (%v)", denied.Err)
	}
	if held, ok := errors.AsType[*release.HeldError](err); ok {
		return held.Reason
	}
	if busy, ok := errors.AsType[*status.BusyError](err); ok {
		return fmt.Sprintf("the cluster cannot carry the request out now (%v)", busy.Err)
	}
	return err.Error()
}

// withoutURL leaves the request out of an error of the network. Its address, with all
// parameters, says less than what went wrong, and takes more room.
func withoutURL(err error) error {
	if request, ok := errors.AsType[*url.Error](err); ok {
		return request.Err
	}
	return err
}

// advice says what to do next about an error.
func advice(err error) string {
	var (
		unreachable *status.UnreachableError
		denied      *status.DeniedError
		foreign     *release.ForeignError
		missing     *MissingClusterError
		lacking     *release.MissingDependencyError
		held        *release.HeldError
		other       *deploy.OtherClusterError
	)
	switch {
	case errors.As(err, &unreachable):
		return "Bring the cluster back, or take it out of the target's rules, and apply again. " +
			"If it is gone for good, take its entry out of the provider and set on_missing = \"forget\"."
	case errors.As(err, &denied):
		return "Check the credentials of the cluster, the rights of its user, and its quotas and policies; then apply again."
	case errors.As(err, &other):
		return "Correct the connection of the cluster. If the cluster was replaced on purpose, set uid in its entry to the UID of the new one."
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

// addFailures reports deployments that failed, one diagnostic for each cause.
// records is what is true now.
func addFailures(diags *diag.Diagnostics, name string, outcome deploy.Outcome) {
	for _, cause := range groupByCause(outcome.Failures) {
		first, failed := cause.failures[0], keys(cause.failures)
		summary := fmt.Sprintf("Target %s: %s %s failed", name, first.Doing, joined(failed))
		if len(failed) > 1 {
			summary = fmt.Sprintf("Target %s: %d deployments failed", name, len(failed))
		}
		if _, held := errors.AsType[*release.HeldError](first.Err); held {
			summary = fmt.Sprintf("Target %s: held: %s", name, summaryOf(failed))
		}
		detail := fmt.Sprintf("Deployments: %s\n\nCause: %s\n\nNow: %s\n\nNext: %s",
			listOf(failed), cause.text, now(failed, outcome.Records), advice(first.Err))
		diags.AddError(summary, detail)
	}
}

// now says what state failed deployments are in.
func now(failed []deploy.Key, records map[deploy.Key]deploy.Record) string {
	var lines []string
	states := map[string][]deploy.Key{}
	for _, key := range failed {
		record, ok := records[key]
		if !ok {
			lines = append(lines, key.String()+" is not deployed.")
			states["Not deployed"] = append(states["Not deployed"], key)
			continue
		}
		lines = append(lines, fmt.Sprintf("%s is %s (release %s in namespace %s).", key, record.State, record.Release, record.Namespace))
		states[string(record.State)] = append(states[string(record.State)], key)
	}
	if len(failed) > fewInDetail {
		lines = nil
		for _, state := range slices.Sorted(maps.Keys(states)) {
			lines = append(lines, fmt.Sprintf("%s: %d of them.", state, len(states[state])))
		}
	}
	lines = append(lines, "All other deployments were finished and saved.")
	return strings.Join(lines, " ")
}

// addNotices reports what removals left behind, one warning for each reason.
func addNotices(diags *diag.Diagnostics, name string, notices []deploy.Notice) {
	var kept, used, foreign, untrusted, left []string
	for _, notice := range notices {
		key := target.Key(notice.Cluster, notice.Bundle)
		add := func(to *[]string, what ...string) {
			if len(what) > 0 {
				*to = append(*to, "  - "+key+": "+strings.Join(what, ", "))
			}
		}
		add(&kept, notice.Removed.Kept...)
		add(&used, notice.Removed.InNamespace...)
		add(&foreign, notice.Removed.NotOwned...)
		if notice.Removed.Untrusted {
			add(&untrusted, "its hooks were not run")
		}
		if notice.LeftTo != "" {
			add(&left, notice.LeftTo)
		}
	}
	for _, about := range []struct {
		lines           []string
		summary, detail string
	}{
		{
			kept, "objects stay on their clusters",
			"These releases were removed, and some of their objects ask to be kept (helm.sh/resource-policy: keep, as all custom resource definitions have " +
				"without deleteCRDResources). Nothing manages them any more.",
		},
		{used, "namespaces stay on their clusters", "They were to be deleted with their releases (deleteNamespace), and something else is in them:"},
		{
			foreign, "objects are not deleted",
			"The release records name these objects, and the objects themselves do not name the release in their annotations meta.helm.sh/release-name and " +
				"meta.helm.sh/release-namespace, or are outside of the namespace that the bundle is restricted to. Delete them by hand if they are no longer needed.",
		},
		{
			untrusted, "release records are not as this target wrote them",
			"Somebody else changed these records, or the target took the releases up without writing them since. What they name was removed only where the objects name the release:",
		},
		{left, "releases are left to others", "They were taken over and stay as they are:"},
	} {
		if len(about.lines) > 0 {
			diags.AddWarning("Target "+name+": "+about.summary, about.detail+"\n\n"+strings.Join(about.lines, "\n"))
		}
	}
}

// logPanics puts where a panic happened into the debug log. The user is told what
// was being done; this is for whoever mends it.
func (f *fleet) logPanics(ctx context.Context, failures []deploy.Failure) {
	for _, failure := range failures {
		if panicked, ok := errors.AsType[*deploy.PanicError](failure.Err); ok {
			tflog.Debug(ctx, "panic in an operation on a cluster", map[string]any{
				"cluster": failure.Cluster, "bundle": failure.Bundle, "doing": panicked.Doing, "stack": shown(f.masker, panicked.Stack),
			})
		}
	}
}

// logAttempt says that an operation is tried again.
func (f *fleet) logAttempt(ctx context.Context, attempt deploy.Attempt) {
	tflog.Warn(ctx, "an operation on a cluster is tried again", map[string]any{
		"cluster": attempt.Cluster, "bundle": attempt.Bundle, "doing": attempt.Doing,
		"error": shown(f.masker, attempt.Err.Error()), "pause": attempt.Pause.String(),
	})
}

// addUnobserved reports clusters that could not be looked at.
func addUnobserved(diags *diag.Diagnostics, name string, failures []deploy.Failure, asError bool) {
	for _, cause := range groupByCause(failures) {
		unseen := keys(cause.failures)
		summary := fmt.Sprintf("Target %s: cannot look at %s", name, summaryOf(unseen))
		detail := fmt.Sprintf("Clusters: %s\n\nCause: %s\n\n", listOf(unseen), cause.text)
		if asError {
			diags.AddError(summary, detail+"The provider's on_unreachable is \"error\". "+advice(cause.failures[0].Err))
			continue
		}
		diags.AddWarning(summary, detail+"What is known of the deployments there is kept; nothing is taken as removed. "+
			"A change that is planned there fails if this is still so when it is applied; all others are carried out.")
	}
}
