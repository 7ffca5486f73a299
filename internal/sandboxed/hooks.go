package sandboxed

import (
	"slices"
	"strings"

	helmrelease "helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// split takes hooks apart, as Helm does. A hook for an event that Helm does not know is neither:
// Helm leaves its document out.
func split(objects []*unstructured.Unstructured) (ordinary, hooks []*unstructured.Unstructured) {
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
