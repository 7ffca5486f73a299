package report

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/source"
)

// BundleSource is the resource for which bundles are built, as messages need it.
type BundleSource struct {
	// Name is the name of the resource.
	Name string
	// Attribute is the attribute that defines where the bundles are.
	Attribute string
	// ReadsPaths is true if the resource reads fleet.yaml files in its paths.
	ReadsPaths bool
}

// Planned reports warnings about bundles, and why bundles cannot be built. hint returns advice
// about an error in addition to the general advice, "" for none.
func (s BundleSource) Planned(planned source.Planned, err error, hint func(error) string) []Message {
	messages := problems(s.Name, planned.Warnings)
	if len(planned.Broken) > 0 {
		var lines strings.Builder
		for _, err := range planned.Broken {
			fmt.Fprintf(&lines, "  - %s\n", err)
		}
		messages = append(messages, warning("GitRepo "+s.Name+": bundles are held",
			lines.String()+"\nThese bundles stay as they are, and new bundles are left out. No bundle is removed until all bundles can be built.")...)
	}
	for _, err := range errorsOf(err) {
		if of, ok := errors.AsType[*source.ElementError](err); ok {
			messages = append(messages, s.elementFailure(of)...)
			continue
		}
		messages = append(messages, s.failure(err, hint(err))...)
	}
	return messages
}

// problems warns of problems in files that were read.
func problems(name string, problems []fleetyaml.Problem) []Message {
	lines := make([]string, len(problems))
	for i, problem := range problems {
		lines[i] = problem.String()
	}
	return warningIf(len(problems) > 0, fmt.Sprintf("Bundles of %s may differ from what you intended", name), listOf(lines))
}

// elementFailure reports what is wrong with one bundle.
func (s BundleSource) elementFailure(err *source.ElementError) []Message {
	switch err.Problem {
	case source.UnreadableDescriptor:
		return Failed("Cannot read the descriptor of bundle "+err.Bundle, err.Err)
	case source.UnreadableChart:
		return Failed("Cannot read the chart of bundle "+err.Bundle, err.Err)
	case source.ChangedSincePlan:
		return failure("The source of "+s.Name+" changed since it was planned",
			"Bundle "+err.Bundle+" differs from the planned one. It was deployed to no cluster. Plan and apply again.")
	}
	return nil
}

// failure reports that bundles could not be built, at the attribute that is the cause.
func (s BundleSource) failure(err error, hint string) []Message {
	next := readsOnly
	if hint != "" {
		next += " " + hint
	}
	if messages := s.invalidOptions(err, next); len(messages) > 0 {
		return messages
	}
	at := s.Attribute
	var (
		noMatch *bundle.NoMatchError
		invalid *fleetyaml.Error
	)
	if s.ReadsPaths && (errors.As(err, &noMatch) || errors.As(err, &invalid)) {
		at = "paths"
	}
	if errors.As(err, &invalid) {
		next += " Correct the file and plan again."
	}
	return failureAt([]any{at}, "Cannot build the bundles of "+s.Name, Sentence(err)+"\n\n"+next)
}

// invalidOptions reports each wrong option at its attribute, if the options are in HCL. A problem of
// no single attribute is reported beside them.
func (s BundleSource) invalidOptions(err error, next string) []Message {
	invalid, ok := errors.AsType[*fleetyaml.Error](err)
	hasAttribute := func(problem fleetyaml.Problem) bool { return len(problem.Attribute) > 0 }
	if !ok || !slices.ContainsFunc(invalid.Problems, hasAttribute) {
		return nil
	}
	var messages []Message
	for _, problem := range invalid.Problems {
		messages = append(messages, failureAt(problem.Attribute, "Cannot build the bundles of "+s.Name, Sentence(errors.New(problem.Message))+"\n\n"+next)...)
	}
	return messages
}

// NoNewCommits warns that the newest commit of a branch cannot be read.
func NoNewCommits(name string, err error) []Message {
	return warning("Cannot check for new commits of "+name, Sentence(err)+" The known commit is still used.")
}

// NoNewTags warns that new tags of images cannot be read.
func NoNewTags(name string, err error) []Message {
	return warning("Cannot check for new image tags of "+name, Sentence(err)+" The known tags are still used.")
}

// NoNewCharts warns that newer versions of a chart cannot be read.
func NoNewCharts(name string, err error) []Message {
	return warning("Cannot check for new chart versions of "+name, Sentence(err)+" The known version is still used.")
}

// NoVersions reports that the versions of a chart cannot be listed.
func NoVersions(err error) []Message {
	return failureAt([]any{"repo"}, "Cannot list the versions of the chart", Sentence(err)+"\n\nReading a registry changes nothing on any cluster.")
}

// NoTag reports that no tag of an image was found.
func NoTag(image string, err error) []Message {
	return failureAt([]any{"image"}, "Cannot find the newest tag of "+image, Sentence(err)+"\n\nReading a registry changes nothing on any cluster.")
}

// SubmoduleAdvice is the advice about a submodule that cannot be read.
const SubmoduleAdvice = "Add credentials for the submodule to git in the provider, or set submodules = false to leave submodules out."

// TwoCharts reports a bundle for which two charts are set.
func TwoCharts(name string) []Message {
	return failureAt([]any{"helm"}, "Two charts for bundle "+name,
		"The attribute chart already names the chart. Remove helm.chart, helm.repo and helm.version.")
}

// OtherBlockAdvice is the advice about a bundle whose source refuses access.
const OtherBlockAdvice = "The provider block of this resource reads the bundle again, with its own git, registries and sops. If the resource of the bundle has another provider block, set these attributes in both."

// UnreadBundles reports why the bundles of an attribute cannot be read. user is the resource
// that reads them. hint returns advice about an error, "" for none.
func UnreadBundles(user string, err error, hint func(error) string) []Message {
	if same, ok := errors.AsType[*source.SameNameError](err); ok {
		return failureAt([]any{"bundles", same.Index}, user+": two bundles have the name "+same.Bundle,
			"A cluster can have only one release of that name. Rename one of the bundles.")
	}
	if unreadable, ok := errors.AsType[*source.UnreadableError](err); ok {
		next := readsOnly
		if advice := hint(unreadable.Err); advice != "" {
			next += " " + advice
		}
		return failureAt([]any{"bundles"}, user+": cannot read bundle "+unreadable.Bundle, Sentence(unreadable.Err)+"\n\n"+next)
	}
	return nil
}
