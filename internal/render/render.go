package render

import (
	"errors"
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/chartutil"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Render renders a deployment without a cluster, with the capabilities that it has, or
// with made-up ones if it has none. What it gives is what an install gives, unless
// Irreproducible says otherwise: then templates read what only the cluster or the
// moment can tell. A release that no cluster could store is a *TooLargeError.
func (c *Charts) Render(d target.Deployment) (release.Rendering, error) {
	if sources := d.ValuesFrom(); len(sources) > 0 {
		return c.described(d, doubt{cause: "its values come from " + sources[0].String() + " on the cluster"})
	}
	p := places(d)[0]
	first, err := c.renderWith(d, p)
	if _, refused := errors.AsType[*manifest.ForbiddenRecordError](err); refused {
		return release.Rendering{}, err // Whatever else it could have rendered.
	}
	if err != nil {
		if excuse := c.excuse(d, err); excuse.cause != "" {
			return c.described(d, excuse)
		}
		return release.Rendering{}, err
	}
	if err := c.checkSize(d, first, p); err != nil {
		return release.Rendering{}, err
	}
	listed, err := manifest.List(first.objects, d.Namespace, d.Digest)
	if err != nil {
		return release.Rendering{}, err
	}
	documents, err := manifest.Documents(first.objects, first.hooks, d.Namespace)
	if err != nil {
		return release.Rendering{}, err
	}
	found := c.doubt(d, first)
	return release.Rendering{
		Chart:          first.chart.Name(),
		Version:        first.chart.Metadata.Version,
		Objects:        listed,
		Documents:      documents,
		Irreproducible: found.cause,
		AsksCluster:    found.asks,
	}, nil
}

// described is the rendering of a deployment whose objects cannot be told.
func (c *Charts) described(d target.Deployment, why doubt) (release.Rendering, error) {
	loaded, _, err := c.load(d)
	if err != nil {
		return release.Rendering{}, err
	}
	if err := checkCRDs(loaded, d); err != nil { // The rest shows when it is installed.
		return release.Rendering{}, err
	}
	return release.Rendering{Chart: loaded.Name(), Version: loaded.Metadata.Version, Irreproducible: why.cause, AsksCluster: why.asks}, nil
}

// Template renders a deployment for a cluster of the given Kubernetes version,
// such as "v1.36.0", without one. What it gives are YAML documents: the objects
// of the release, and its hooks. Custom resource definitions below crds/ are in
// neither. Errors: *TemplateError, *SchemaError, *KubeVersionError,
// *ReleaseNameError, *ChartError, *OverlayError, *ManifestError,
// *ClusterScopedError, *ForbiddenRecordError, those of kustomize.
func (c *Charts) Template(d target.Deployment, kubeVersion string) (objects, hooks string, err error) {
	version, err := chartutil.ParseKubeVersion(kubeVersion)
	if err != nil {
		return "", "", fmt.Errorf("reading the Kubernetes version %q: %w", kubeVersion, err)
	}
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.KubeVersion = *version
	made, err := c.render(d, Environment{Capabilities: capabilities, Revision: 1})
	if err != nil {
		return "", "", err
	}
	ordinary, hooked := split(made.objects)
	if !d.Options.DeleteCRDResources {
		manifest.KeepCRDs(ordinary)
	}
	if objects, err = manifest.Join(ordinary); err != nil {
		return "", "", err
	}
	hooks, err = manifest.Join(hooked)
	return objects, hooks, err
}

// Describe reads the name and version of a deployment's chart.
func (c *Charts) Describe(d target.Deployment) (name, version string, err error) {
	loaded, _, err := c.load(d)
	if err != nil {
		return "", "", err
	}
	return loaded.Name(), loaded.Metadata.Version, nil
}

// places are where a deployment is rendered to find out whether it comes out alike:
// as the first revision and as a later one and, if it has no capabilities, on clusters
// that differ in everything a chart can ask for.
func places(d target.Deployment) [2]Environment {
	const later = 7
	if d.Capabilities != nil {
		return [2]Environment{
			{Capabilities: Capabilities(*d.Capabilities), Revision: 1},
			{Capabilities: Capabilities(*d.Capabilities), Revision: later, Upgrade: true},
		}
	}
	other := chartutil.DefaultCapabilities.Copy()
	other.KubeVersion = chartutil.KubeVersion{Version: "v1.99.9", Major: "1", Minor: "99"}
	other.APIVersions = append(slices.Clone(other.APIVersions),
		"monitoring.coreos.com/v1", "cert-manager.io/v1", "gateway.networking.k8s.io/v1",
		"security.openshift.io/v1", "autoscaling.k8s.io/v1", "policy/v1beta1", "batch/v1beta1")
	// Whether a chart fits the version of a cluster that is not known shows when it is
	// installed.
	return [2]Environment{
		{Capabilities: chartutil.DefaultCapabilities.Copy(), Revision: 1, anyVersion: true},
		{Capabilities: other, Revision: later, Upgrade: true, anyVersion: true},
	}
}

// renderWith renders the objects that stand in the manifest of a release.
func (c *Charts) renderWith(d target.Deployment, p Environment) (rendered, error) {
	made, err := c.render(d, p)
	if err != nil {
		return rendered{}, err
	}
	return applied(d, made), nil
}

// applied leaves out what does not stand in the manifest.
func applied(d target.Deployment, made rendered) rendered {
	made.objects, made.hooks = split(made.objects)
	if !d.Options.DeleteCRDResources {
		manifest.KeepCRDs(made.objects)
	}
	return made
}

// split takes hooks apart, as Helm does.
func split(objects []*unstructured.Unstructured) (ordinary, hooks []*unstructured.Unstructured) {
	for _, object := range objects {
		if _, isHook := object.GetAnnotations()[helmrelease.HookAnnotation]; isHook {
			hooks = append(hooks, object)
			continue
		}
		ordinary = append(ordinary, object)
	}
	return ordinary, hooks
}

// Values are the values of a deployment, a copy that Helm may change.
func Values(d target.Deployment) map[string]any {
	return deepCopy(d.HelmOptions().Values)
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
