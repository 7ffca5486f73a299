package render

import (
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// FixedCapabilities are capabilities that a configuration sets, as `helm template` takes them: a
// version of Kubernetes, such as "1.34" or "v1.34.1", and API versions in addition to those of
// Kubernetes that Helm includes, such as "monitoring.coreos.com/v1" or
// "monitoring.coreos.com/v1/ServiceMonitor".
func FixedCapabilities(kubeVersion string, apis []string) (target.Capabilities, error) {
	version, err := chartutil.ParseKubeVersion(kubeVersion)
	if err != nil {
		return target.Capabilities{}, fmt.Errorf("reading the Kubernetes version %q: %w", kubeVersion, err)
	}
	fixed := target.Capabilities{
		Version: version.Version, Major: version.Major, Minor: version.Minor,
		APIs: chartutil.DefaultVersionSet, Fixed: true,
	}
	return fixed.With(apis), nil
}

// Capabilities returns the capabilities of a cluster in Helm's type.
func Capabilities(c target.Capabilities) *chartutil.Capabilities {
	return &chartutil.Capabilities{
		APIVersions: slices.Clone(c.APIs),
		KubeVersion: chartutil.KubeVersion{Version: c.Version, Major: c.Major, Minor: c.Minor},
		HelmVersion: chartutil.DefaultCapabilities.HelmVersion,
	}
}
