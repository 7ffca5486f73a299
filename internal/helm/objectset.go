package helm

import (
	"maps"
	"strings"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// formerOf returns an object as the release had it before, nil if the release did not have it. The
// labels and annotations that Fleet's agent has added to the live object count as former ones, so
// that an update removes them, whatever the former record contains.
func formerOf(object *resource.Info, original kube.ResourceList, live *unstructured.Unstructured) kube.ResourceList {
	found := original.Get(object)
	if found == nil {
		return nil
	}
	content, ok := found.Object.(*unstructured.Unstructured)
	if !ok || live == nil {
		return kube.ResourceList{found}
	}
	labels, annotations := markersOf(live.GetLabels()), markersOf(live.GetAnnotations())
	if len(labels)+len(annotations) == 0 {
		return kube.ResourceList{found}
	}
	former := *found
	content = content.DeepCopy()
	content.SetLabels(withMore(content.GetLabels(), labels))
	content.SetAnnotations(withMore(content.GetAnnotations(), annotations))
	former.Object = content
	return kube.ResourceList{&former}
}

// markersOf returns those of the texts that Fleet's agent adds.
func markersOf(texts map[string]string) map[string]string {
	markers := maps.Clone(texts)
	maps.DeleteFunc(markers, func(key, _ string) bool { return !strings.HasPrefix(key, wellknown.ObjectSetPrefix) })
	return markers
}
