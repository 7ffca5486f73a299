package render

import (
	"slices"

	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Capabilities are those of a cluster as Helm has them.
func Capabilities(c target.Capabilities) *chartutil.Capabilities {
	return &chartutil.Capabilities{
		APIVersions: slices.Clone(c.APIs),
		KubeVersion: chartutil.KubeVersion{Version: c.Version, Major: c.Major, Minor: c.Minor},
		HelmVersion: chartutil.DefaultCapabilities.HelmVersion,
	}
}
