package target

import (
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// facts are what templates can read of a cluster.
type facts struct {
	name, namespace     string
	labels, annotations map[string]string
	values              map[string]any
}

// factsOf returns the facts of a cluster. It leaves out labels and annotations that belong to
// kubectl and Rancher, as Fleet does (internal/cmd/controller/target/builder.go).
func factsOf(c Cluster) facts {
	f := facts{
		name:      c.Name,
		namespace: c.Namespace,
		labels:    make(map[string]string, len(c.Labels)),
		values:    c.TemplateValues,
	}
	for key, value := range c.Labels {
		if !isForeign(key) || strings.HasPrefix(key, wellknown.FleetPrefix) || strings.HasPrefix(key, wellknown.ManagementPrefix) {
			f.labels[key] = value
		}
	}
	f.annotations = VisibleAnnotations(c.Annotations)
	return f
}

// VisibleAnnotations returns the annotations of a cluster that templates can read.
func VisibleAnnotations(annotations map[string]string) map[string]string {
	visible := make(map[string]string, len(annotations))
	for key, value := range annotations {
		if !isForeign(key) {
			visible[key] = value
		}
	}
	return visible
}

func isForeign(key string) bool {
	return strings.HasPrefix(key, wellknown.KubectlPrefix) || strings.Contains(key, wellknown.RancherDomain)
}

// context returns what "." is in a template.
func (f facts) context() map[string]any {
	return map[string]any{
		"ClusterName":        f.name,
		"ClusterNamespace":   f.namespace,
		"ClusterLabels":      anyMap(f.labels),
		"ClusterAnnotations": anyMap(f.annotations),
		"ClusterValues":      fleetyaml.CopyValues(f.values),
	}
}

func anyMap(from map[string]string) map[string]any {
	to := make(map[string]any, len(from))
	for key, value := range from {
		to[key] = value
	}
	return to
}
