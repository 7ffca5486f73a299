package conformance_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kustomize"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// classOf returns the corpus's name for the kind of an error. Only types decide, never texts.
func classOf(err error) string {
	for _, class := range []struct {
		name string
		is   func(error) bool
	}{
		{"duplicate-name-error", is[*bundle.DuplicateNameError]},
		{"options-file-error", is[*bundle.OptionsFileError]},
		{"values-file-error", is[*bundle.ValuesFileError]},
		{"symlink-error", is[*bundle.LinkError]},
		{"no-resources-error", is[*bundle.NoMatchError]},
		{"no-resources-error", is[*bundle.EmptyError]},
		{"kustomize-error", is[*kustomize.Error]},
		{"kustomize-error", is[*bundle.NoKustomizationError]},
		{"release-name-error", is[*target.ReleaseNameError]},
		{"non-hermetic-error", is[*target.NonHermeticError]},
		{"template-error", is[*target.TemplateError]},
		{"schema-error", is[*render.SchemaError]},
		{"kube-version-error", is[*render.KubeVersionError]},
		{"overlay-error", is[*render.OverlayError]},
		{"render-error", is[*render.TemplateError]},
		{"render-error", is[*render.ManifestError]},
		{"chart-error", is[*render.ChartError]},
		{"cluster-scoped-error", is[*render.ClusterScopedError]}, // Fleet's offline renderer has none.
	} {
		if class.is(err) {
			return class.name
		}
	}
	if chart, ok := errors.AsType[*bundle.ChartError](err); ok {
		if chart.Outside {
			return "chart-outside-error"
		}
		return "chart-missing-error"
	}
	if invalid, ok := errors.AsType[*fleetyaml.Error](err); ok {
		return classOfFile(invalid)
	}
	return fmt.Sprintf("another error (%T)", err)
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// classOfFile returns the class of the errors of a file.
func classOfFile(invalid *fleetyaml.Error) string {
	classes := map[fleetyaml.Kind]string{
		fleetyaml.UnknownKey:    "unknown-key-error",
		fleetyaml.BadDependency: "depends-on-error",
		fleetyaml.ImageScansOff: "image-scan-error",
		fleetyaml.BadSelector:   "selector-error",
		fleetyaml.BadChart:      "chart-error",
	}
	for kind, class := range classes {
		if invalid.Only(kind) {
			return class
		}
	}
	return "fleet-yaml-error"
}

// judgeError compares layer E of an input that could not be read.
func (r recording) judgeError(err error) (verdict, string) {
	class := classOf(err)
	want, good := r.Class, equal
	switch {
	case r.ID == "cases__loose-keys": // Decided for an open question: keys are exact.
		want, good = "unknown-key-error", deviates
		if is[*fleetyaml.Error](err) {
			return good, ""
		}
	case r.Ours.Outcome == "error":
		want, good = r.Ours.Error, deviates
	case r.Outcome == "ok" && r.allFail(class):
		// Fleet stops later than this provider, on every cluster.
		return equal, ""
	}
	if class != want {
		return wrong, fmt.Sprintf("want %q, got %s: %v", want, class, err)
	}
	return good, ""
}

// allFail reports whether every bundle fails with this class on every cluster.
func (r recording) allFail(class string) bool {
	return len(r.Bundles) > 0 && !slices.ContainsFunc(r.Bundles, func(b recordedBundle) bool {
		return len(b.Clusters) == 0 || slices.ContainsFunc(slices.Collect(maps.Values(b.Clusters)), func(c string) bool { return c != class })
	})
}
