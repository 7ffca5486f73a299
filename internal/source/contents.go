package source

import (
	"cmp"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
)

// Content describes a bundle for users and policies, always in three words: chart and version,
// path, and the beginning of the digest, such as "web-1.0.0 apps/web ac881d87". The path of the
// root is ".". A bundle without a chart has its name in place of chart and version.
func (e Element) Content() string {
	return strings.Join([]string{
		mask.Word(bundle.ChartText(e.Chart, e.Version)),
		mask.Word(cmp.Or(e.Path, ".")), mask.Word(bundle.ShortDigest(e.Digest)),
	}, " ")
}
