package bundle

import (
	"fmt"
	"path"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// missingOverlays warns of names in yaml.overlays without a folder. As in Fleet they
// do nothing, which is seldom what was meant.
func (b Bundle) missingOverlays() []fleetyaml.Problem {
	options := []fleetyaml.Options{b.Definition.Options}
	for _, customization := range slices.Concat(b.Definition.Targets, b.Definition.TargetCustomizations) {
		options = append(options, customization.Options)
	}
	var warned []string
	var warnings []fleetyaml.Problem
	for _, of := range options {
		if of.YAML == nil {
			continue
		}
		for _, name := range of.YAML.Overlays {
			if slices.Contains(warned, name) || b.holds(path.Join("overlays", name)) {
				continue
			}
			warned = append(warned, name)
			warnings = append(warnings, fleetyaml.Problem{
				File: b.DefinitionFile, Kind: fleetyaml.Note, Message: fmt.Sprintf("yaml.overlays names %q, and there is no folder overlays/%s, so it does nothing", name, name),
			})
		}
	}
	return warnings
}
