package bundle

import (
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// supported says whether this version can render the bundle, whichever of its
// customizations count. file is where the options stand.
func (b Bundle) supported(file string) error {
	for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		if b.has(name) {
			return problem(path.Join(b.Path, name), fleetyaml.NotYet, "kustomize is not supported yet by this version")
		}
	}
	charts := []string{chartOf(b.Definition.Options)}
	for _, customization := range slices.Concat(b.Definition.Targets, b.Definition.TargetCustomizations) {
		charts = append(charts, chartOf(customization.Options))
	}
	for _, chart := range charts {
		if err := b.hasChart(file, chart); err != nil {
			return err
		}
	}
	return nil
}

func chartOf(options fleetyaml.Options) string {
	if options.Helm == nil {
		return ""
	}
	return options.Helm.Chart
}

func (b Bundle) hasChart(file, chart string) error {
	dir := path.Clean(chart) // "" becomes ".".
	if path.IsAbs(chart) || isOutside(dir) {
		return &ChartError{File: file, Chart: chart, Outside: true}
	}
	if b.has(dir) {
		return problem(file, fleetyaml.NotYet, "helm.chart %q is a packed chart, which is not supported yet by this version", chart)
	}
	metadata := path.Join(dir, "Chart.yaml")
	i, found := b.find(metadata)
	if !found && chart != "" {
		return &ChartError{File: file, Chart: chart}
	}
	if !found {
		return nil // Raw manifests.
	}
	var content map[string]any
	if err := yaml.Unmarshal(b.Files[i].Content, &content); err != nil {
		return problem(path.Join(b.Path, metadata), fleetyaml.Syntax, "%v", err)
	}
	return nil
}

func (b Bundle) has(name string) bool {
	_, found := b.find(name)
	return found
}

func (b Bundle) find(name string) (int, bool) {
	return slices.BinarySearchFunc(b.Files, name, func(file File, name string) int { return strings.Compare(file.Name, name) })
}
