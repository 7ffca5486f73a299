package fleetyaml

import "maps"

// MergeValues merges over into base: maps are merged, and all other values, lists and null too, are
// replaced. Neither map is changed. The result shares the values that only one of them has.
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

// CopyValues copies values with all maps and lists in them. The copy of nil is an empty map.
func CopyValues(values map[string]any) map[string]any {
	copied := make(map[string]any, len(values))
	for key, value := range values {
		copied[key] = copyValue(value)
	}
	return copied
}

func copyValue(value any) any {
	switch value := value.(type) {
	case map[string]any:
		return CopyValues(value)
	case []any:
		copied := make([]any, len(value))
		for i, item := range value {
			copied[i] = copyValue(item)
		}
		return copied
	}
	return value
}

// EachText calls see for each text in values. Keys do not count.
func EachText(values any, see func(text string)) {
	switch values := values.(type) {
	case string:
		see(values)
	case map[string]any:
		for _, value := range values {
			EachText(value, see)
		}
	case []any:
		for _, value := range values {
			EachText(value, see)
		}
	}
}
