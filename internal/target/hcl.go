package target

import (
	"maps"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// HCLText returns which text in the objects of a deployment is from a Terraform configuration. Such
// text is in the files and values of a fleet_bundle. It is also in labels, annotations and template
// values of the cluster that values are templated with.
func (d Deployment) HCLText() diff.HCLText {
	if d.Bundle.HCL.Files {
		return diff.HCLText{All: true}
	}
	return diff.HCLText{Texts: d.OtherTexts(d.HelmOptions().Values)}
}

// OtherTexts returns texts in values, sorted: those that the bundle's definition does not contain
// unchanged, and those that HCL contains. A text that a template changed is thus one of them.
func (d Deployment) OtherTexts(values any) []string {
	public := bundle.TextsOf(d.Bundle.Definition)
	found := map[string]bool{}
	fleetyaml.EachText(values, func(text string) {
		if text != "" && (!public[text] || d.Bundle.HCL.Texts[text]) {
			found[text] = true
		}
	})
	return slices.Sorted(maps.Keys(found))
}
