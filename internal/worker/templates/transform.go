package templates

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Environment describes the cluster and the revision that a chart is rendered for.
type Environment struct {
	Capabilities *chartutil.Capabilities
	// Lookup reads objects of the cluster. It is nil without a cluster.
	Lookup lookupFunc
	// Revision is the revision of the release. Upgrade is false for its first revision.
	Revision int
	Upgrade  bool
	// anyVersion is true if the capabilities of the cluster are made up, so that the chart may
	// require another version of Kubernetes.
	anyVersion bool
	// ask is called for each API version that a template queries, and with "" if a template reads
	// all of them. It can be nil.
	ask func(api string)
}

// rendered are the objects of a deployment. Its hooks are among objects until applied moves them to
// hooks.
type rendered struct {
	chart          *chart.Chart
	style          render.Style
	files          map[string]string // The outputs of templates by name.
	objects, hooks []*unstructured.Unstructured
	duplicates     *duplicateFinder
}

// render makes the objects of a deployment: those of its chart, changed by its kustomization, in
// the namespace that the bundle is restricted to.
func (r *Renderer) render(d target.Deployment, p Environment) (rendered, error) {
	loaded, made, err := r.load(d)
	if err != nil {
		return rendered{}, err
	}
	if err := render.CheckCRDs(loaded, d); err != nil {
		return rendered{}, err
	}
	files, err := runTemplates(d, loaded, p)
	if err != nil {
		return rendered{}, err
	}
	return r.assemble(d, made, loaded, files)
}

// assemble makes the objects of a deployment from the outputs of its templates.
func (r *Renderer) assemble(d target.Deployment, made render.Style, loaded *chart.Chart, files map[string]string) (rendered, error) {
	objects, unique, err := renderedObjects(d, files)
	if err != nil {
		return rendered{}, err
	}
	if made.Kustomize {
		if objects, err = r.kustomizedObjects(d, made, objects); err != nil {
			return rendered{}, err
		}
	}
	if objects, err = render.Confine(objects, d, nil); err != nil {
		return rendered{}, err
	}
	return rendered{chart: loaded, style: made, files: files, objects: objects, duplicates: unique}, nil
}

// runTemplates renders a chart, with the values of the deployment.
func runTemplates(d target.Deployment, loaded *chart.Chart, p Environment) (map[string]string, error) {
	values, err := renderValues(d, loaded, p)
	if err != nil {
		return nil, err
	}
	files, err := runEngine(loaded, values, p.Lookup)
	if err != nil {
		return nil, &render.TemplateError{Bundle: d.Bundle.Name, Public: publicFailure(loaded, err), Err: withHelpers(d, err)}
	}
	return files, nil
}

// withHelpers adds a hint to the error of a template of plain manifests: a .tpl file below
// templates/ is not read. Fleet does not read such a file either.
func withHelpers(d target.Deployment, err error) error {
	if _, isChart := d.Bundle.ChartDirectory(d.Options.Helm); isChart {
		return err
	}
	for _, file := range d.Bundle.Files {
		if strings.HasPrefix(file.Name, "templates/") && path.Ext(file.Name) == ".tpl" {
			return fmt.Errorf("%w (%s is not read: without a Chart.yaml, as in Fleet, only .yaml, .yml and .json files below "+
				"templates/ are templates)", err, file.Name)
		}
	}
	return err
}

// renderValues returns the values that the templates of a chart are run with. It removes subcharts
// that are not enabled from the chart.
func renderValues(d target.Deployment, loaded *chart.Chart, p Environment) (chartutil.Values, error) {
	if err := chartutil.ValidateReleaseName(d.Release); err != nil {
		return nil, fmt.Errorf("bundle %s: release name %q: %w", d.Bundle.Name, d.Release, err)
	}
	values := d.PlainValues()
	if err := processDependencies(d, loaded, values); err != nil {
		return nil, err
	}
	if wants := loaded.Metadata.KubeVersion; wants != "" && !p.anyVersion &&
		!chartutil.IsCompatibleRange(wants, p.Capabilities.KubeVersion.String()) {
		return nil, &render.KubeVersionError{Bundle: d.Bundle.Name, Wants: wants, Version: p.Capabilities.KubeVersion.String()}
	}
	options := chartutil.ReleaseOptions{
		Name: d.Release, Namespace: d.Namespace, Revision: p.Revision, IsInstall: !p.Upgrade, IsUpgrade: p.Upgrade,
	}
	if !d.HelmOptions().SkipSchemaValidation {
		removeOutside(loaded)
	}
	made, err := chartutil.ToRenderValuesWithSchemaValidation(loaded, values, options, p.Capabilities, d.HelmOptions().SkipSchemaValidation)
	if err != nil {
		if _, mismatch := chartutil.CoalesceValues(loaded, values); mismatch != nil {
			err = cmp.Or(invalidSubchartValues(loaded, values, ""), err)
		}
		return nil, &render.SchemaError{Bundle: d.Bundle.Name, Err: err}
	}
	return made, nil
}

// renderedObjects returns the objects in the outputs of a chart's templates, including hooks, and a
// finder of objects that are defined twice.
func renderedObjects(d target.Deployment, files map[string]string) ([]*unstructured.Unstructured, *duplicateFinder, error) {
	documents, err := render.Documents(d.Bundle.Name, files)
	if err != nil {
		return nil, nil, err
	}
	objects, unique := make([]*unstructured.Unstructured, len(documents)), newDuplicateFinder(d)
	for i, document := range documents {
		unique.add(document.Object, document.Place)
		objects[i] = document.Object
	}
	return objects, unique, nil
}

// kustomizedObjects returns the objects of a kustomization, which includes those of its chart if it
// has one.
func (r *Renderer) kustomizedObjects(d target.Deployment, made render.Style,
	objects []*unstructured.Unstructured,
) ([]*unstructured.Unstructured, error) {
	built, err := r.kustomized(d, made, objects)
	if err != nil {
		return nil, err
	}
	objects, _, err = renderedObjects(d, map[string]string{"kustomize.yaml": string(built)}) // As Helm reads it.
	return objects, err
}

// kustomized builds the kustomization of the bundle, which includes the objects of its chart if it
// has one.
func (r *Renderer) kustomized(d target.Deployment, made render.Style, objects []*unstructured.Unstructured) ([]byte, error) {
	if r.Kustomize == nil {
		return nil, fmt.Errorf("bundle %s: kustomize is not available here", d.Bundle.Name)
	}
	var rendered []byte
	if made.Helm {
		joined, err := manifest.Join(objects)
		if err != nil {
			return nil, err
		}
		rendered = []byte(joined)
	}
	built, err := r.Kustomize(d.Bundle.Files, made.KustomizeDir, rendered)
	if err != nil {
		return nil, fmt.Errorf("bundle %s: %w", d.Bundle.Name, err)
	}
	return built, nil
}

// crdsOf returns the files below crds/ of a chart and its subcharts, in the order in which Helm
// creates their objects.
func crdsOf(c *chart.Chart) [][]byte {
	var files [][]byte
	for _, crd := range c.CRDObjects() {
		files = append(files, crd.File.Data)
	}
	return files
}
