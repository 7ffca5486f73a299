package target

import (
	"maps"
	"strings"
)

// facts are what templates see of a cluster.
type facts struct {
	name, namespace     string
	labels, annotations map[string]string
	values              map[string]any
}

// factsOf leaves out labels and annotations that belong to kubectl and Rancher,
// as Fleet does (internal/cmd/controller/target/builder.go).
func factsOf(c Cluster) facts {
	f := facts{
		name:        c.Name,
		namespace:   c.Namespace,
		labels:      make(map[string]string, len(c.Labels)),
		annotations: make(map[string]string, len(c.Annotations)),
		values:      c.TemplateValues,
	}
	for key, value := range c.Labels {
		if !isForeign(key) || strings.HasPrefix(key, "fleet.cattle.io/") || strings.HasPrefix(key, "management.cattle.io/") {
			f.labels[key] = value
		}
	}
	for key, value := range c.Annotations {
		if !isForeign(key) {
			f.annotations[key] = value
		}
	}
	return f
}

func isForeign(key string) bool {
	return strings.HasPrefix(key, "kubectl.kubernetes.io/") || strings.Contains(key, "cattle.io/")
}

// context is what "." is in a template.
func (f facts) context() map[string]any {
	return map[string]any{
		"ClusterName":        f.name,
		"ClusterNamespace":   f.namespace,
		"ClusterLabels":      anyMap(f.labels),
		"ClusterAnnotations": anyMap(f.annotations),
		"ClusterValues":      copyMap(f.values),
	}
}

func anyMap(from map[string]string) map[string]any {
	to := make(map[string]any, len(from))
	for key, value := range from {
		to[key] = value
	}
	return to
}

func copyMap(from map[string]any) map[string]any {
	to := make(map[string]any, len(from))
	maps.Copy(to, from)
	for key, value := range to {
		to[key] = copyValue(value)
	}
	return to
}

func copyValue(value any) any {
	switch value := value.(type) {
	case map[string]any:
		return copyMap(value)
	case []any:
		list := make([]any, len(value))
		for i, item := range value {
			list[i] = copyValue(item)
		}
		return list
	}
	return value
}
