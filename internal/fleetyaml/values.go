package fleetyaml

import "maps"

// MergeValues lays over on base: maps are merged, everything else, lists and
// null too, is replaced. Neither is changed; the result shares what only one of
// them has.
func MergeValues(base, over map[string]any) map[string]any {
	if len(over) == 0 {
		return base
	}
	merged := make(map[string]any, len(base)+len(over))
	maps.Copy(merged, base)
	for key, value := range over {
		below, isMap := merged[key].(map[string]any)
		above, both := value.(map[string]any)
		if isMap && both {
			merged[key] = MergeValues(below, above)
			continue
		}
		merged[key] = value
	}
	return merged
}
