package report

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/rollout"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Failures reports deployments that failed, one message for each cause.
func Failures(name string, outcome deploy.Outcome) []Message {
	messages := interrupted(name, outcome.Interruption)
	failures := slices.DeleteFunc(slices.Clone(outcome.Failures), outcome.Interruption.Explains)
	for _, cause := range deploy.GroupByCause(failures) {
		first, failed := cause.Failures[0], cause.Keys()
		summary := fmt.Sprintf("Target %s: %s %s failed", name, first.Doing, deploy.Joined(failed))
		if len(failed) > 1 {
			summary = fmt.Sprintf("Target %s: %d deployments failed", name, len(failed))
		}
		if _, held := errors.AsType[*rollout.HeldError](first.Err); held {
			summary = fmt.Sprintf("Target %s: held: %s", name, deploy.SummaryOf(failed))
		}
		detail := fmt.Sprintf("Deployments: %s\n\nCause: %s\n\nNow: %s\n\nNext: %s",
			deploy.ListOf(failed), cause.Text, outcome.StatesOf(cause), advice(first.Err, failed))
		messages = append(messages, failure(summary, detail)...)
	}
	return messages
}

// interrupted reports what an interrupted apply has done, and what the next apply does.
func interrupted(name string, apply *deploy.Interruption) []Message {
	if apply == nil || apply.IsComplete() {
		return nil
	}
	var lines []string
	add := func(title string, keys []deploy.Key) {
		if len(keys) > 0 {
			lines = append(lines, fmt.Sprintf("%s (%d): %s", title, len(keys), deploy.ListOf(keys)))
		}
	}
	add("Finished", apply.Finished)
	add("Removed", apply.Removed)
	add("Taken back, as before this apply", apply.TakenBack)
	add("Started and not finished", apply.Unfinished)
	add("Not started, as before this apply", apply.NotStarted)
	return failure("Target "+name+": the apply was interrupted", strings.Join(lines, "\n\n")+
		"\n\nNext: Apply again. The next apply keeps what is finished. It carries out all other deployments, "+
		"and recovers each release whose operation was stopped.")
}

// acceptedShown is the maximum number of fields in the message of Accepted.
const acceptedShown = 20

// Notices reports what removals left behind and what deployments wait for, one warning for each reason.
func Notices(name string, notices []deploy.Notice) []Message {
	var messages []Message
	add := func(textOf func(deploy.Notice) string, summary, detail string) {
		var lines []string
		for _, notice := range notices {
			if text := textOf(notice); text != "" {
				lines = append(lines, target.Key(notice.Cluster, notice.Bundle)+": "+text)
			}
		}
		messages = append(messages, warningIf(len(lines) > 0, "Target "+name+": "+summary, detail+"\n\n"+listOf(lines))...)
	}
	add(func(n deploy.Notice) string { return strings.Join(n.Removed.Kept, ", ") }, "objects stay on their clusters",
		"These releases were uninstalled, and some of their objects remain. They have the annotation helm.sh/resource-policy: keep, as all custom resource definitions do "+
			"without deleteCRDResources. No release owns these objects any more.")
	add(func(n deploy.Notice) string { return strings.Join(n.Removed.InNamespace, ", ") }, "namespaces stay on their clusters",
		"They are not deleted in spite of deleteNamespace, because they contain other objects:")
	add(func(n deploy.Notice) string { return strings.Join(n.Removed.NotOwned, ", ") }, "objects are not deleted",
		"The release records list these objects. But the objects do not name the release in their annotations meta.helm.sh/release-name and "+
			"meta.helm.sh/release-namespace, or are outside the namespace that the bundle is restricted to. Delete them by hand if they are no longer needed.")
	add(func(n deploy.Notice) string {
		if n.Removed.Untrusted {
			return "its hooks were not run"
		}
		return ""
	}, "release records differ from what this target wrote",
		"Another client changed these records, or the target adopted the releases and has not written them since. Only objects whose annotations name the release were removed:")
	add(func(n deploy.Notice) string { return n.Remains }, "releases can remain on clusters without an agent",
		"The management cluster no longer has these deployments. The releases and their pods remain until Fleet's agent of the cluster is back and "+
			"collects what has no deployment, up to an hour after its start:")
	add(func(n deploy.Notice) string { return n.Waits }, "deployments wait for agents",
		"Their Bundles are written, and nothing is deployed yet. Fleet's agents of these clusters carry it out when they are back. Until then, a refresh shows WaitApplied:")
	messages = append(messages, Accepted(name, notices)...)
	add(func(n deploy.Notice) string { return n.LeftTo }, "releases of other owners are not removed", "These owners took over the releases, which stay as they are:")
	return messages
}

// Accepted reports fields that clusters changed when they were written, each once for all
// deployments.
func Accepted(name string, notices []deploy.Notice) []Message {
	var (
		fields []string
		of     = map[string][]deploy.Key{}
	)
	for _, notice := range notices {
		for _, field := range notice.Accepted {
			if of[field] == nil {
				fields = append(fields, field)
			}
			of[field] = append(of[field], deploy.Key{Cluster: notice.Cluster, Bundle: notice.Bundle})
		}
	}
	var lines []string
	for _, field := range fields[:min(len(fields), acceptedShown)] {
		lines = append(lines, field+" ("+deploy.SummaryOf(of[field])+")")
	}
	if more := len(fields) - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return warningIf(len(fields) > 0, "Target "+name+": clusters changed fields when they were written",
		"A webhook or the API server gave these fields another value, or removed them. The state accepts what is there now, and no plan shows it as drift. "+
			"Another later value is drift. If the change is not intended, correct the bundle or the webhook:\n\n"+listOf(lines))
}

// Inconsistent reports the differences between the plan and the result of an apply that
// succeeded.
func Inconsistent(name string, differences []string) []Message {
	return failureIf(len(differences) > 0, "Target "+name+": the result is not what the plan showed",
		"The deployments were carried out, and the state has what is on the clusters. Something changed between the plan and the apply:\n\n"+
			listOf(differences)+"\n\nNext: Plan again. The plan shows what is left to do.")
}
