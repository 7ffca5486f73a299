package render

import (
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// FixedCapabilities are capabilities that a configuration sets, as `helm template` takes them: a
// version of Kubernetes, such as "1.34" or "v1.34.1", and API versions beside those that Helm
// knows of Kubernetes, such as "monitoring.coreos.com/v1" or
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

// Capabilities are those of a cluster as Helm has them.
func Capabilities(c target.Capabilities) *chartutil.Capabilities {
	return &chartutil.Capabilities{
		APIVersions: slices.Clone(c.APIs),
		KubeVersion: chartutil.KubeVersion{Version: c.Version, Major: c.Major, Minor: c.Minor},
		HelmVersion: chartutil.DefaultCapabilities.HelmVersion,
	}
}
