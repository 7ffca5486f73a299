package target

import (
	"maps"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// HCLText is what is known of the text in the objects of a deployment that comes from a
// Terraform configuration: files and values of a fleet_bundle, and labels, annotations and
// template values of its cluster that values are templated with.
func (d Deployment) HCLText() diff.HCLText {
	if d.Bundle.HCL.Files {
		return diff.HCLText{All: true}
	}
	return diff.HCLText{Texts: d.OtherTexts(d.HelmOptions().Values)}
}

// OtherTexts are the texts in values that the bundle of a deployment does not have as they are,
// except in HCL, sorted. What a template has made of a text is another one.
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
