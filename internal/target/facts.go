package target

import (
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// visibleLabels returns the labels of a cluster that templates can read. It leaves out labels that
// belong to kubectl and Rancher, as Fleet does (internal/cmd/controller/target/builder.go).
func visibleLabels(labels map[string]string) map[string]string {
	visible := make(map[string]string, len(labels))
	for key, value := range labels {
		if !isForeign(key) || strings.HasPrefix(key, wellknown.FleetPrefix) || strings.HasPrefix(key, wellknown.ManagementPrefix) {
			visible[key] = value
		}
	}
	return visible
}

// VisibleAnnotations returns the annotations of a cluster that templates can read, as in Fleet.
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

func anyMap(from map[string]string) map[string]any {
	to := make(map[string]any, len(from))
	for key, value := range from {
		to[key] = value
	}
	return to
}
