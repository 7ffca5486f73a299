package conformance_test

import (
	"slices"
	"strings"
)

// normal drops empty values: empty maps and lists, null, "", false and 0. It keeps Helm values as
// they are, and createNamespace: false, which has an effect. It also keeps an empty selector, which
// matches everything, and a zero in a rollout strategy.
func normal(value any) any { return normalAt(value, nil) }

func normalAt(value any, path []string) any {
	last := ""
	if len(path) > 0 {
		last = path[len(path)-1]
	}
	switch value := value.(type) {
	case map[string]any:
		if last == "values" && len(path) > 1 && path[len(path)-2] == "helm" && len(value) > 0 {
			return value
		}
		kept := make(map[string]any)
		for key, item := range value {
			if left := normalAt(item, append(slices.Clip(path), key)); left != nil {
				kept[key] = left
			}
		}
		if len(kept) == 0 && !strings.HasSuffix(strings.ToLower(last), "selector") {
			return nil
		}
		return kept
	case []any:
		if len(value) == 0 {
			return nil
		}
		items := make([]any, len(value))
		for i, item := range value {
			if items[i] = normalAt(item, path); items[i] == nil {
				items[i] = map[string]any{}
			}
		}
		return items
	case string:
		if value == "" {
			return nil
		}
	case bool:
		if !value && last != "createNamespace" {
			return nil
		}
	case float64:
		if value == 0 && !slices.Contains(path, "rolloutStrategy") {
			return nil
		}
	}
	return value
}

// drop removes the value at path, if there is one.
func drop(value any, path []string) {
	below, ok := value.(map[string]any)
	if !ok || len(path) == 0 {
		return
	}
	if len(path) == 1 {
		delete(below, path[0])
		return
	}
	drop(below[path[0]], path[1:])
}
