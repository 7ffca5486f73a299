package rollout

import (
	"path"
	"strings"

	"github.com/agext/levenshtein"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
)

// Nearest returns the name of the bundle that a user probably meant by name: the bundle of this
// folder, or the bundle with a similar name. It returns "" if there is none.
func Nearest(name string, bundles []*bundle.Bundle) string {
	const longest = 253
	if len(name) > longest {
		return ""
	}
	folder := path.Clean(strings.Trim(name, "/"))
	for _, known := range bundles {
		if known.Path != "" && known.Path != "." && known.Path == folder {
			return known.Name
		}
	}
	for _, known := range bundles {
		if last := path.Base(folder); path.Base(known.Path) == last && last != "." {
			return known.Name
		}
	}
	nearest, distance := "", max(1, len(name)/4)+1
	for _, known := range bundles {
		if d := levenshtein.Distance(known.Name, name, nil); d < distance {
			nearest, distance = known.Name, d
		}
	}
	return nearest
}
