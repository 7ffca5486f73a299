package helm

import (
	"fmt"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	helmrelease "helm.sh/helm/v3/pkg/release"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Render renders a deployment without a cluster. What it gives is what an
// install gives, unless Irreproducible says otherwise: then templates read what
// only the cluster or the moment can tell. The rendering is repeated with other
// capabilities and as an upgrade, so that a difference shows whatever causes it.
func (c *Charts) Render(d target.Deployment) (release.Rendering, error) {
	first, err := c.renderWith(d, capabilitySets()[0])
	if err != nil {
		return release.Rendering{}, err
	}
	listed, err := objects(first.Manifest, d.Namespace, d.Digest)
	if err != nil {
		return release.Rendering{}, err
	}
	rendering := release.Rendering{
		Chart:          first.Chart.Name(),
		Version:        first.Chart.Metadata.Version,
		Objects:        listed,
		Irreproducible: scan(first.Chart, values(d)),
	}
	if rendering.Irreproducible != "" {
		return rendering, nil
	}
	second, err := c.renderWith(d, capabilitySets()[1])
	if err != nil || second.Manifest != first.Manifest {
		rendering.Irreproducible = "its templates give another result on another cluster"
	}
	return rendering, nil
}

// Describe reads the name and version of a deployment's chart.
func (c *Charts) Describe(d target.Deployment) (name, version string, err error) {
	loaded, err := c.load(d)
	if err != nil {
		return "", "", err
	}
	return loaded.Name(), loaded.Metadata.Version, nil
}

// capabilitySet is one answer to what charts ask of a cluster.
type capabilitySet struct {
	kubeVersion chartutil.KubeVersion
	apiVersions chartutil.VersionSet
	upgrade     bool
}

// capabilitySets differ in everything a chart can ask for.
func capabilitySets() [2]capabilitySet {
	return [2]capabilitySet{
		{kubeVersion: chartutil.DefaultCapabilities.KubeVersion},
		{
			kubeVersion: chartutil.KubeVersion{Version: "v1.99.9", Major: "1", Minor: "99"},
			apiVersions: chartutil.VersionSet{
				"monitoring.coreos.com/v1", "cert-manager.io/v1", "gateway.networking.k8s.io/v1",
				"security.openshift.io/v1", "autoscaling.k8s.io/v1", "policy/v1beta1", "batch/v1beta1",
			},
			upgrade: true,
		},
	}
}

func (c *Charts) renderWith(d target.Deployment, capabilities capabilitySet) (*helmrelease.Release, error) {
	loaded, err := c.load(d)
	if err != nil {
		return nil, err
	}
	install := action.NewInstall(&action.Configuration{Log: func(string, ...any) {}})
	install.ClientOnly = true
	install.DryRun = true
	install.ReleaseName = d.Release
	install.Namespace = d.Namespace
	install.KubeVersion = &capabilities.kubeVersion
	install.APIVersions = capabilities.apiVersions
	install.IsUpgrade = capabilities.upgrade
	install.SkipSchemaValidation = helmOptions(d).SkipSchemaValidation
	if d.Options.Namespace != "" {
		install.PostRenderer = namespacer{namespace: d.Namespace}
	}
	// Whether a chart fits the version of a cluster shows when it is installed;
	// these versions are made up.
	ignoreKubeVersion(loaded)
	rendered, err := install.Run(loaded, values(d))
	if err != nil {
		return nil, fmt.Errorf("rendering: %w", err)
	}
	return rendered, nil
}

func ignoreKubeVersion(loaded *chart.Chart) {
	loaded.Metadata.KubeVersion = ""
	for _, dependency := range loaded.Dependencies() {
		ignoreKubeVersion(dependency)
	}
}

// values are the values of a deployment, a copy that Helm may change.
func values(d target.Deployment) map[string]any {
	return deepCopy(helmOptions(d).Values)
}

func deepCopy(values map[string]any) map[string]any {
	copied := make(map[string]any, len(values))
	for key, value := range values {
		copied[key] = deepCopyValue(value)
	}
	return copied
}

func deepCopyValue(value any) any {
	switch value := value.(type) {
	case map[string]any:
		return deepCopy(value)
	case []any:
		copied := make([]any, len(value))
		for i, item := range value {
			copied[i] = deepCopyValue(item)
		}
		return copied
	}
	return value
}
