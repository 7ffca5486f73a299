package render

import (
	"maps"
	"slices"
	"sort"
	"strings"

	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// SplitHooks separates hooks from other objects, as Helm does. A hook for an event that Helm does
// not support is in neither list: Helm leaves its document out.
func SplitHooks(objects []*unstructured.Unstructured) (ordinary, hooks []*unstructured.Unstructured) {
	for _, object := range objects {
		events, isHook := manifest.Annotations(object)[wellknown.Hook]
		switch {
		case !isHook:
			ordinary = append(ordinary, object)
		case areKnownEvents(events):
			hooks = append(hooks, object)
		}
	}
	return ordinary, hooks
}

// areKnownEvents reads the annotation of a hook as Helm does
// (helm.sh/helm/v3/pkg/releaseutil/manifest_sorter.go).
func areKnownEvents(annotation string) bool {
	for event := range strings.SplitSeq(annotation, ",") {
		if !slices.Contains(knownEvents(), strings.ToLower(strings.TrimSpace(event))) {
			return false
		}
	}
	return true
}

func knownEvents() []string {
	return []string{
		helmrelease.HookPreInstall.String(), helmrelease.HookPostInstall.String(),
		helmrelease.HookPreDelete.String(), helmrelease.HookPostDelete.String(),
		helmrelease.HookPreUpgrade.String(), helmrelease.HookPostUpgrade.String(),
		helmrelease.HookPreRollback.String(), helmrelease.HookPostRollback.String(),
		helmrelease.HookTest.String(), "test-success",
	}
}

// SplitDocuments returns the documents of a rendered file as Helm splits them. In Helm, a document
// begins after its separator.
func SplitDocuments(file string) []string {
	found := releaseutil.SplitManifests(file)
	names := slices.Collect(maps.Keys(found))
	sort.Sort(releaseutil.BySplitManifestsOrder(names))
	documents := make([]string, len(names))
	for i, name := range names {
		documents[i] = found[name]
	}
	return documents
}
