package bundle

import (
	"fmt"
	"path"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// maxMissing is how many overlays without a folder are reported.
const maxMissing = 20

// missingOverlays warns of names in yaml.overlays without a folder. As in Fleet, such names have
// no effect, which is seldom intended.
func missingOverlays(b Bundle) []fleetyaml.Problem {
	warned := map[string]bool{}
	var warnings []fleetyaml.Problem
	for _, options := range b.Definition.AllOptions() {
		if options.YAML == nil {
			continue
		}
		for _, name := range options.YAML.Overlays {
			if warned[name] || len(warned) == maxMissing || tree(b.Files).contains(path.Join("overlays", name)) {
				continue
			}
			warned[name] = true
			warnings = append(warnings, fleetyaml.Problem{
				File: b.DefinitionFile, Kind: fleetyaml.Note,
				Message: fmt.Sprintf("yaml.overlays names %q and has no effect: the folder overlays/%s does not exist", name, name),
			})
		}
	}
	return warnings
}
