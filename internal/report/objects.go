package report

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/preview"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// MissingValues reports objects named in helm.valuesFrom that do not exist, with the
// deployments that need them.
func MissingValues(name string, missing map[string][]string) []Message {
	var lines []string
	for _, reference := range slices.Sorted(maps.Keys(missing)) {
		lines = append(lines, mask.PrintableLine(reference)+": "+strings.Join(missing[reference], ", "))
	}
	return warningIf(len(missing) > 0, "Target "+name+": values are missing on clusters",
		"helm.valuesFrom names objects that do not exist:\n"+listOf(lines)+
			"\n\nThese deployments will fail unless the objects exist by then. Create them, or list the resources that create them in depends_on of the target.")
}

// Moves reports the objects that move from one bundle to another.
func Moves(name string, moves map[string]release.Moves) []Message {
	var found status.Grouped
	for _, cluster := range slices.Sorted(maps.Keys(moves)) {
		leaving := moves[cluster].Leaving
		for _, bundle := range slices.Sorted(maps.Keys(leaving)) {
			for _, object := range slices.Sorted(maps.Keys(leaving[bundle])) {
				found.Add(fmt.Sprintf("%s moves from bundle %s to bundle %s", object, bundle, leaving[bundle][object]), cluster)
			}
		}
	}
	return warningIf(!found.IsEmpty(), "Target "+name+": objects move from one bundle to another",
		strings.TrimPrefix(found.List(), "\n")+"\n\nThe objects stay on their clusters. The new release adopts them, and the former release does not delete them.")
}

// UnknownObjects reports why the objects of deployments are known only after the apply.
// showsNone is true if the plan of a create therefore shows no objects for any deployment.
func UnknownObjects(name string, causes *status.Grouped, showsNone bool) []Message {
	var lines strings.Builder
	causes.Each(func(cause string, deployments []string) {
		fmt.Fprintf(&lines, "  - %s: %s\n", strings.Join(deployments, ", "), cause)
	})
	consequence := "The hashes of these objects are unknown until then."
	if showsNone {
		consequence = "The plan of a new target is made again before the apply, and these clusters can be read by then. " +
			"So objects is unknown as a whole. To know it now, set kube_version and api_versions of these clusters in the provider."
	}
	return warningIf(!causes.IsEmpty(), "Target "+name+": objects are known only after the apply",
		"The objects of these charts are known only after apply:\n"+lines.String()+
			"\n"+consequence+" The digest decides what is deployed, so nothing changes unless the bundle changes.")
}

// Diff reports what changes in rendered objects.
func Diff(name string, found preview.DiffReport) []Message {
	var parts []string
	if len(found.Diffs) > 0 {
		parts = append(parts, diff.Join(found.Diffs))
	}
	left := notCompared
	if found.Mode == plan.DiffAuto {
		left = clustersNotCompared
	}
	messages := tooManyFailed(name, found.TooManyFailed)
	if parts = append(parts, left(&found.NotCompared)...); len(parts) == 0 {
		return messages
	}
	return append(messages, warning("Target "+name+": changes in rendered objects", strings.Join(parts, "\n\n"))...)
}

// tooManyFailed reports deployments whose upgrades are refused.
func tooManyFailed(name string, keys []deploy.Key) []Message {
	return failureIf(len(keys) > 0, "Target "+name+": too many failed revisions", fmt.Sprintf("More than %d different revisions of these deployments have failed since the last one that was deployed: %s\n\n"+
		"An upgrade has to remove what each of them has written. Run helm rollback for their releases, and apply with %s. "+
		"Or remove the deployments, and add them again.", release.MaxFailed, deploy.ListOf(keys), strings.TrimSuffix(consentFor(keys), ",")))
}

// Definitions reports what an apply does with custom resource definitions below crds/.
func Definitions(name string, found preview.DefinitionReport) []Message {
	text, ignored := release.DefinitionsText(found.Found)
	var parts []string
	if text != "" {
		parts = append(parts, text)
	}
	if parts = append(parts, notCompared(&found.NotCompared)...); len(parts) == 0 {
		return nil
	}
	if ignored {
		parts = append(parts, "Set helm.crds of the bundle, or crds of the target, to \"create_replace\" to create and replace them. "+
			"Or apply them in another way and set \"skip\".")
	}
	return warning("Target "+name+": custom resource definitions in crds/ of charts", strings.Join(parts, "\n\n"))
}

// Hooks reports the hooks that an apply adds or runs.
func Hooks(name string, runs []plan.HookRun) []Message {
	var lines strings.Builder
	for _, run := range runs {
		fmt.Fprintf(&lines, "\n  - %s: %s", run.Hook, deploy.ListOf(run.Deployments))
	}
	return warningIf(len(runs) > 0, "Target "+name+": hooks of new and changed deployments",
		"Helm runs each hook at its events. Unless its delete policy says otherwise, a hook replaces the object that its last run has left. It replaces no object of another release.\n"+lines.String())
}

// notCompared returns one paragraph for each reason.
func notCompared(causes *status.Grouped) []string {
	var parts []string
	causes.Each(func(cause string, deployments []string) {
		parts = append(parts, "Not compared: "+strings.Join(deployments, ", ")+": "+cause+".")
	})
	return parts
}

// clustersNotCompared returns one line with all reasons and their clusters.
func clustersNotCompared(causes *status.Grouped) []string {
	if causes.IsEmpty() {
		return nil
	}
	var parts []string
	causes.Each(func(cause string, clusters []string) {
		parts = append(parts, "on "+diff.Clusters(clusters)+": "+cause)
	})
	return []string{"Not compared " + strings.Join(parts, "; ") + "."}
}

// maxNamed is the maximum number of lines in the messages of UnknownFields and UncheckedSchemas.
const maxNamed = 20

// UnknownFields reports fields that API servers do not know, with their deployments.
func UnknownFields(name string, fields map[string][]deploy.Key) []Message {
	return warningIf(len(fields) > 0, "Target "+name+": objects have unknown fields",
		"The types of Kubernetes that this provider knows lack these fields:\n"+withDeployments(fields)+
			"\n\nAn API server ignores such a field, unless it is newer than these types. Correct the names of the fields.")
}

// UncheckedSchemas reports schemas that refer to other documents, with the deployments.
func UncheckedSchemas(name string, references map[string][]deploy.Key) []Message {
	return warningIf(len(references) > 0, "Target "+name+": values are checked against a part of the schema only",
		"A schema of a chart can refer to other documents. The provider reads no such document, and checks the values against the rest of the schema:\n"+withDeployments(references))
}

// withDeployments lists texts with their deployments.
func withDeployments(of map[string][]deploy.Key) string {
	var lines []string
	for _, text := range slices.Sorted(maps.Keys(of)) {
		lines = append(lines, text+" ("+deploy.ListOf(of[text])+")")
	}
	if more := len(lines) - maxNamed; more > 0 {
		lines = append(lines[:maxNamed], fmt.Sprintf("and %d more", more))
	}
	return listOf(lines)
}

// UnservedKinds reports objects of kinds that clusters do not serve. Kinds that only Kubernetes itself
// can serve are errors. Others can be defined until the apply.
func UnservedKinds(name string, failures []deploy.Failure) []Message {
	var errs, warnings []deploy.Failure
	for _, failure := range failures {
		if unserved, ok := errors.AsType[*preview.UnservedKindError](failure.Err); ok && unserved.Kind.IsDefinable() {
			warnings = append(warnings, failure)
			continue
		}
		errs = append(errs, failure)
	}
	messages := PlanFailures(name, errs)
	if len(warnings) == 0 {
		return messages
	}
	return append(messages, warning("Target "+name+": clusters do not serve some kinds",
		causeLines(warnings)+"\nThese deployments will fail unless the kinds exist by then. If another resource defines them, list that resource in depends_on of the target.")...)
}
