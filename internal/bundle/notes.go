package bundle

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// notesOf returns notes about options of a bundle that have no effect.
func notesOf(b Bundle) []fleetyaml.Problem {
	notes, variants := missingOverlays(b), variantsOf(b)
	for _, message := range slices.Concat(ineffectiveVersions(b), unusedOverlays(variants), ineffectiveValues(b.Files, variants)) {
		notes = append(notes, fleetyaml.Problem{File: b.DefinitionFile, Kind: fleetyaml.Note, Message: message})
	}
	return notes
}

// variant is a bundle with the options of the root or of one customization.
type variant struct {
	helm     *fleetyaml.Helm
	overlays []string
	// isChart and isKustomized are the kind of the variant, even if its chart was not fetched
	// yet.
	isChart, isKustomized bool
}

func (v variant) isPlain() bool { return !v.isChart && !v.isKustomized }

// variantsOf returns the variants of a bundle, the root first.
func variantsOf(b Bundle) []variant {
	files := tree(b.Files)
	of := func(helm *fleetyaml.Helm, dir string, y *fleetyaml.YAML) variant {
		_, isChart := files.directoryOf(chartOf(helm))
		_, isKustomized, err := b.Kustomization(dir)
		made := variant{
			helm: helm, isChart: isChart || files.isElsewhere(chartOf(helm)),
			isKustomized: isKustomized || err != nil, // Rendering reports the error.
		}
		if y != nil {
			made.overlays = y.Overlays
		}
		return made
	}
	root := kustomizeDir(b.Definition.Kustomize)
	variants := []variant{of(b.Definition.Helm, root, b.Definition.YAML)}
	for _, customization := range b.Definition.Customizations() {
		helm := cmp.Or(customization.Helm, b.Definition.Helm)
		variants = append(variants, of(helm, cmp.Or(kustomizeDir(customization.Kustomize), root), customization.YAML))
	}
	return variants
}

func kustomizeDir(options *fleetyaml.Kustomize) string {
	if options == nil {
		return ""
	}
	return options.Dir
}

// ineffectiveVersions reports versions of charts that are files of the bundle.
func ineffectiveVersions(b Bundle) []string {
	var messages []string
	files, root := tree(b.Files), chartOf(b.Definition.Helm)
	for _, chart := range chartsOf(&b.Definition) {
		inherited := chart.Version == root.Version && files.isElsewhere(root)
		if chart.Version == "" || inherited || files.isElsewhere(chart) {
			continue
		}
		message := fmt.Sprintf("helm.version %q has no effect: the chart is in the bundle, and its Chart.yaml sets the version", chart.Version)
		if !slices.Contains(messages, message) {
			messages = append(messages, message)
		}
	}
	return messages
}

// unusedOverlays reports overlays of a chart or a kustomization. As in Fleet, these have no
// effect (internal/helmdeployer/render/helm.go).
func unusedOverlays(variants []variant) []string {
	for i, v := range variants {
		if len(v.overlays) == 0 || v.isPlain() || i == 0 && slices.ContainsFunc(variants, variant.isPlain) {
			continue
		}
		what := "a kustomization"
		if v.isChart {
			what = "a Helm chart"
		}
		return []string{"yaml.overlays has no effect: it changes plain manifests only, and the bundle is " + what}
	}
	return nil
}

// ineffectiveValues reports values that no template reads. In a bundle without a chart, only the
// files below templates/ are templates. Beside a kustomization there are no templates.
func ineffectiveValues(files []File, variants []variant) []string {
	hasTemplates := slices.ContainsFunc(files, func(file File) bool {
		return strings.HasPrefix(file.Name, "templates/") ||
			strings.HasPrefix(file.Name, "overlays/") && path.Base(path.Dir(file.Name)) == "templates"
	})
	for _, v := range variants {
		if v.isChart || hasTemplates && !v.isKustomized {
			return nil
		}
	}
	for _, v := range variants {
		if v.helm == nil {
			continue
		}
		if len(v.helm.Values)+len(v.helm.ValuesFrom)+len(v.helm.TemplateValues) > 0 {
			return []string{"values in helm have no effect: the bundle has no chart, and no template below templates/ reads them"}
		}
	}
	return nil
}
