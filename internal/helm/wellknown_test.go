package helm

import (
	"testing"

	"helm.sh/helm/v3/pkg/kube"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// The names in wellknown are those that Helm's SDK exports. Other packages use wellknown to
// avoid the SDK.
func TestWellKnownNamesAreHelms(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		wellknown.ResourcePolicy: kube.ResourcePolicyAnno,
		wellknown.KeepPolicy:     kube.KeepPolicy,
		wellknown.Hook:           helmrelease.HookAnnotation,
		wellknown.RecordPrefix:   storage.HelmStorageType + ".",
	} {
		if got != want {
			t.Errorf("%q is not %q", got, want)
		}
	}
}
