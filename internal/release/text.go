package release

import "github.com/agentless-fleet/terraform-provider-fleet/internal/target"

// TextOrigin says where the text in the objects of a revision came from. A plan shows a text
// only if it did not come from a Terraform configuration. The zero value is not known: any text
// can have.
type TextOrigin string

// The origins that are known.
const (
	// TextPublic is that of a git repository, a directory or a chart.
	TextPublic TextOrigin = "public"
	// TextOfValues is the same but for values. The release record contains these.
	TextOfValues TextOrigin = "values"
)

// TextOriginOf is that of a deployment.
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
