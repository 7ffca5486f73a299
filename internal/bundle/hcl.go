package bundle

import (
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// HCL is what of a bundle stands in a Terraform configuration. Terraform does not report to a
// provider which values are sensitive, so any text in it can be a secret. The zero value is a
// bundle that a git repository or a directory has as a whole.
type HCL struct {
	// Files says that the files do.
	Files bool
	// Texts are the texts in helm.values and helm.templateValues that do, those of
	// customizations included.
	Texts map[string]bool
}

// TextsOf are the texts in the values of a definition, as they are before they are templated.
func TextsOf(def fleetyaml.Definition) map[string]bool {
	found := map[string]bool{}
	add := func(text string) { found[text] = true }
	all := []fleetyaml.Options{def.Options}
	for _, customization := range slices.Concat(def.Targets, def.TargetCustomizations) {
		all = append(all, customization.Options)
	}
	for _, options := range all {
		if options.Helm == nil {
			continue
		}
		fleetyaml.EachText(options.Helm.Values, add)
		for _, text := range options.Helm.TemplateValues {
			add(text)
		}
	}
	return found
}
