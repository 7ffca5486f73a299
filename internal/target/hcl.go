package target

import (
	"maps"
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// HCLText returns which text in the objects of a deployment is from a Terraform configuration. Such
// text is in the files and values of a fleet_bundle. It is also in annotations and template values of
// the cluster that values are templated with. Its name and its labels decide what is deployed, so a
// text that reads nothing else is public.
func (d Deployment) HCLText() diff.HCLText {
	if d.Bundle.HCL.Files {
		return diff.HCLText{All: true}
	}
	return diff.HCLText{Texts: d.OtherTexts(d.HelmOptions().Values)}
}

// OtherTexts returns texts in values, sorted: those that the bundle's definition does not contain
// unchanged or as a template of names and labels, and those that HCL contains.
func (d Deployment) OtherTexts(values any) []string {
	public := d.publicTexts()
	found := map[string]bool{}
	fleetyaml.EachText(values, func(text string) {
		if text != "" && (!public[text] || d.Bundle.HCL.Texts[text]) {
			found[text] = true
		}
	})
	return slices.Sorted(maps.Keys(found))
}

// publicTexts returns the texts in the values of the definition that are not in HCL, unchanged and
// with names and labels of the cluster in place of its templates.
func (d Deployment) publicTexts() map[string]bool {
	public := map[string]bool{}
	labels, _ := d.Public["ClusterLabels"].(map[string]any)
	for text := range bundle.TextsOf(d.Bundle.Definition) {
		public[text] = true
		if d.Public == nil || d.Bundle.HCL.Texts[text] {
			continue
		}
		if key, isReference := strings.CutPrefix(text, labelReference); isReference {
			label, _ := labels[key].(string)
			public[label] = true
			continue
		}
		if !strings.Contains(text, LeftDelim) {
			continue
		}
		if result, ok := readFields(parseFieldReads(text), d.Public); ok {
			public[result] = true
		}
	}
	return public
}
