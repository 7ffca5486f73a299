package fleet

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

const (
	// maxDepth and maxPaths limit what is read of a patch.
	maxDepth = 20
	maxPaths = 20
)

// differences returns the paths that a patch of Fleet's agent changes, without values: a patch of a
// Secret contains its data.
func differences(patch string, t texts) []release.Difference {
	var changes map[string]any
	if json.Unmarshal([]byte(patch), &changes) != nil {
		return nil
	}
	var paths []string
	collectPaths(changes, "", maxDepth, &paths)
	found := make([]release.Difference, len(paths))
	for i, path := range paths {
		found[i].Path = mask.PrintableLine(t.shown(path))
	}
	return found
}

func collectPaths(value any, path string, depth int, paths *[]string) {
	if len(*paths) >= maxPaths {
		return
	}
	below, isMap := value.(map[string]any)
	if !isMap || depth == 0 || len(below) == 0 {
		*paths = append(*paths, path)
		return
	}
	for _, key := range slices.Sorted(maps.Keys(below)) {
		next := key
		if path != "" {
			next = path + "." + key
		}
		collectPaths(below[key], next, depth-1, paths)
	}
}
