package bundle

import (
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// HCL describes which parts of a bundle are in a Terraform configuration. Terraform does not
// report to a provider which values are sensitive, so any text in a configuration can be a
// secret. The zero value is for a bundle that is entirely in a git repository or a directory.
type HCL struct {
	// Files is true if the files are in the configuration.
	Files bool
	// Texts are the texts in helm.values and helm.templateValues that are in the configuration,
	// those of customizations included.
	Texts map[string]bool
}

// TextsOf returns the texts in the values of a definition, before they are templated.
func TextsOf(def fleetyaml.Definition) map[string]bool {
	found := map[string]bool{}
	add := func(text string) { found[text] = true }
	for _, options := range def.AllOptions() {
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
