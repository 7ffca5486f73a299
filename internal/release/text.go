package release

import "github.com/agentless-fleet/terraform-provider-fleet/internal/target"

// TextOrigin is the origin of the text in the objects of a revision. A plan shows a text only if it
// did not come from a Terraform configuration. The zero value is an unknown origin: any text can be
// from a configuration.
type TextOrigin string

// The origins that are known.
const (
	// TextPublic means that all text is from a git repository, a directory or a chart.
	TextPublic TextOrigin = "public"
	// TextOfValues means the same, except for values. The release record contains the values.
	TextOfValues TextOrigin = "values"
)

// TextOriginOf returns the origin of a deployment's text.
func TextOriginOf(d target.Deployment) TextOrigin {
	from := d.HCLText()
	switch {
	case from.All:
		return ""
	case len(from.Texts) > 0:
		return TextOfValues
	}
	return TextPublic
}
