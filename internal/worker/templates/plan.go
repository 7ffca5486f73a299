package templates

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Plan renders a deployment without a cluster, see render.Charts.Render.
func (r *Renderer) Plan(_ context.Context, d target.Deployment) (release.Rendering, error) {
	return r.plan(d, false)
}

// plan renders a deployment without a cluster. If once is true, it makes no renderings that find out
// which objects can vary: if any can vary, all names count as unknown. These renderings can run
// branches that run on no cluster, and one of them can fail or exceed a limit although plan otherwise
// would not.
func (r *Renderer) plan(d target.Deployment, once bool) (release.Rendering, error) {
	if d.Capabilities != nil && d.Capabilities.MayGrow {
		return r.planGrowing(d, once)
	}
	return r.planFor(d, &analysis{renderer: r, d: d, once: once})
}

// planFor renders a deployment for the cluster of an analysis.
func (r *Renderer) planFor(d target.Deployment, differences *analysis) (release.Rendering, error) {
	if sources := d.ValuesFrom(); len(sources) > 0 {
		return r.described(d, reason{cause: "its values come from " + sources[0].String() + " on the cluster"})
	}
	if d.WriteOnly != nil {
		return r.described(d, reason{cause: "it has write-only values or files"})
	}
	first, err := differences.first()
	if _, refused := errors.AsType[*manifest.ForbiddenRecordError](err); refused {
		return release.Rendering{}, err // This applies to any result of the templates.
	}
	if err != nil {
		if why := differences.failureReason(err); why.cause != "" {
			return r.described(d, why)
		}
		return release.Rendering{}, err
	}
	if err := first.duplicates.check(d); err != nil {
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
	if err := checkSize(d, first, documents); err != nil {
		return release.Rendering{}, err
	}
	first.duplicates.locate(documents)
	rendering := release.Rendering{
		Chart:     first.chart.Name(),
		Version:   first.chart.Metadata.Version,
		Objects:   listed,
		Documents: documents,
		CRDs:      render.CRDHashes(first.chart),
	}
	if !d.HelmOptions().SkipSchemaValidation {
		whole, _, err := r.load(d)
		if err != nil {
			return release.Rendering{}, err
		}
		rendering.UncheckedSchemas = removeOutside(whole)
	}
	found := differences.knowledge(first)
	if rendering.UnknownFields, err = checkTypes(d, first, found); err != nil {
		return release.Rendering{}, err
	}
	rendering.RenderEach = found.cause != ""
	if found.namesVary || len(found.varying) > 0 {
		rendering.Irreproducible, rendering.DependsOnCluster = found.cause, found.dependsOnCluster
		rendering.Varying, rendering.NamesVary = found.varying, found.namesVary
		rendering.NamesDependOnCluster = found.namesVary && (found.dependsOnCluster || found.readsCapabilities)
	}
	return rendering, nil
}

// described returns the rendering of a deployment whose objects are unknown.
func (r *Renderer) described(d target.Deployment, why reason) (release.Rendering, error) {
	loaded, _, err := r.load(d)
	if err != nil {
		return release.Rendering{}, err
	}
	if err := render.CheckCRDs(loaded, d); err != nil { // Other mistakes are found when it is installed.
		return release.Rendering{}, err
	}
	return release.Rendering{
		Chart: loaded.Name(), Version: loaded.Metadata.Version, CRDs: render.CRDHashes(loaded),
		Irreproducible: why.cause, NamesVary: true, RenderEach: true,
		DependsOnCluster: why.dependsOnCluster, NamesDependOnCluster: why.dependsOnCluster || why.readsCapabilities,
	}, nil
}

// Template renders a deployment for a version of Kubernetes, see render.Charts.Template.
func (r *Renderer) Template(_ context.Context, d target.Deployment, kubeVersion string) (objects, hooks string, err error) {
	version, err := chartutil.ParseKubeVersion(kubeVersion)
	if err != nil {
		return "", "", fmt.Errorf("reading the Kubernetes version %q: %w", kubeVersion, err)
	}
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.KubeVersion = *version
	made, err := r.render(d, Environment{Capabilities: capabilities, Revision: 1})
	if err != nil {
		return "", "", err
	}
	ordinary, hooked, err := render.SplitHooks(made.objects)
	if err != nil {
		return "", "", err
	}
	if !d.Options.DeleteCRDResources {
		manifest.KeepCRDs(ordinary)
	}
	if objects, err = manifest.Join(ordinary); err != nil {
		return "", "", err
	}
	hooks, err = manifest.Join(hooked)
	return objects, hooks, err
}

// renderContexts returns the environments in which a deployment is rendered to find out whether the
// results are the same: as the first revision and as a later one. If it has no capabilities, the
// environments are also clusters that differ in all capabilities that a chart can read.
func renderContexts(d target.Deployment) [2]Environment {
	const later = 7
	if d.Capabilities != nil {
		return [2]Environment{
			{Capabilities: render.Capabilities(*d.Capabilities), Revision: 1},
			{Capabilities: render.Capabilities(*d.Capabilities), Revision: later, Upgrade: true},
		}
	}
	other := chartutil.DefaultCapabilities.Copy()
	other.KubeVersion = chartutil.KubeVersion{Version: "v1.99.9", Major: "1", Minor: "99"}
	other.APIVersions = append(slices.Clone(other.APIVersions),
		"monitoring.coreos.com/v1", "cert-manager.io/v1", "gateway.networking.k8s.io/v1",
		"security.openshift.io/v1", "autoscaling.k8s.io/v1", "policy/v1beta1", "batch/v1beta1")
	// Whether a chart supports the version of an unknown cluster is checked when it is installed.
	return [2]Environment{
		{Capabilities: chartutil.DefaultCapabilities.Copy(), Revision: 1, anyVersion: true},
		{Capabilities: other, Revision: later, Upgrade: true, anyVersion: true},
	}
}

// renderWith renders the objects that belong to the manifest of a release, and its hooks.
func (r *Renderer) renderWith(d target.Deployment, p Environment) (rendered, error) {
	made, err := r.render(d, p)
	if err != nil {
		return rendered{}, err
	}
	return applied(d, made)
}

// applied separates the hooks from the objects of the manifest.
func applied(d target.Deployment, made rendered) (rendered, error) {
	var err error
	if made.objects, made.hooks, err = render.SplitHooks(made.objects); err != nil {
		return rendered{}, err
	}
	if !d.Options.DeleteCRDResources {
		manifest.KeepCRDs(made.objects)
	}
	return made, nil
}
