package render

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"sort"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Environment is where and when a chart is rendered.
type Environment struct {
	Capabilities *chartutil.Capabilities
	// Config and Mapper are nil without a cluster.
	Config *rest.Config
	Mapper meta.RESTMapper
	// Revision is that of the release, and Upgrade false for its first one.
	Revision int
	Upgrade  bool
	// anyVersion says that the capabilities of the cluster are made up, so that a
	// chart need not fit its version.
	anyVersion bool
}

// rendered are the objects of a deployment, hooks as well. They stand beside the others
// where they were taken apart.
type rendered struct {
	chart          *chart.Chart
	objects, hooks []*unstructured.Unstructured
}

// render makes the objects of a deployment: its chart's, put through its
// kustomization, in the namespace that all of them must be in.
func (c *Charts) render(d target.Deployment, p Environment) (rendered, error) {
	loaded, made, err := c.load(d)
	if err != nil {
		return rendered{}, err
	}
	if err := checkCRDs(loaded, d); err != nil {
		return rendered{}, err
	}
	files, err := runTemplates(d, loaded, p)
	if err != nil {
		return rendered{}, err
	}
	return c.assemble(d, made, loaded, files, p)
}

// assemble makes the objects of a deployment from what its templates gave.
func (c *Charts) assemble(d target.Deployment, made style, loaded *chart.Chart, files map[string]string, p Environment) (rendered, error) {
	objects, err := renderedObjects(d, files)
	if err != nil {
		return rendered{}, err
	}
	if made.kustomizesChart() {
		if objects, err = c.kustomized(d, made.kustomizeDir, objects); err != nil {
			return rendered{}, err
		}
	}
	if d.Options.Namespace != "" {
		objects = manifest.Flatten(objects)
		if err := (namespacer{namespace: d.Namespace, mapper: p.Mapper}).move(objects); err != nil {
			return rendered{}, err
		}
	}
	if err := manifest.RefuseRecords(objects, d.Namespace); err != nil {
		return rendered{}, err
	}
	return rendered{chart: loaded, objects: objects}, nil
}

// Chart makes the chart that Helm installs. Where the objects of a chart are
// changed before they are applied, it is rendered here, and what Helm gets is a
// chart of the changed objects. Helm's own post-renderer would not do: it sees no
// hooks, while Fleet changes them like everything else
// (internal/helmdeployer/postrender.go).
func (c *Charts) Chart(d target.Deployment, p Environment) (*chart.Chart, error) {
	loaded, made, err := c.load(d)
	if err != nil {
		return nil, err
	}
	if d.Options.Namespace == "" && !made.kustomizesChart() {
		return loaded, checkCRDs(loaded, d)
	}
	changed, err := c.render(d, p)
	if err != nil {
		return nil, err
	}
	return changedChart(changed.chart, changed.objects)
}

// runTemplates renders a chart, with the values of the deployment.
func runTemplates(d target.Deployment, loaded *chart.Chart, p Environment) (map[string]string, error) {
	values, err := renderValues(d, loaded, p)
	if err != nil {
		return nil, err
	}
	runner := engine.Engine{}
	if p.Config != nil {
		runner = engine.New(p.Config)
	}
	runner.EnableDNS = !d.HelmOptions().DisableDNS
	files, err := runner.Render(loaded, values)
	if err != nil {
		return nil, &TemplateError{Bundle: d.Bundle.Name, Err: err}
	}
	return files, nil
}

// renderValues are what the templates of a chart are run with. Subcharts that are not
// enabled leave the chart.
func renderValues(d target.Deployment, loaded *chart.Chart, p Environment) (chartutil.Values, error) {
	if err := chartutil.ValidateReleaseName(d.Release); err != nil {
		return nil, &ReleaseNameError{Bundle: d.Bundle.Name, Name: d.Release, Err: err}
	}
	values := Values(d)
	if err := chartutil.ProcessDependenciesWithMerge(loaded, values); err != nil {
		return nil, &ChartError{Bundle: d.Bundle.Name, Err: err}
	}
	if wants := loaded.Metadata.KubeVersion; wants != "" && !p.anyVersion && !chartutil.IsCompatibleRange(wants, p.Capabilities.KubeVersion.String()) {
		return nil, &KubeVersionError{Bundle: d.Bundle.Name, Wants: wants, Version: p.Capabilities.KubeVersion.String()}
	}
	options := chartutil.ReleaseOptions{
		Name: d.Release, Namespace: d.Namespace, Revision: p.Revision, IsInstall: !p.Upgrade, IsUpgrade: p.Upgrade,
	}
	made, err := chartutil.ToRenderValuesWithSchemaValidation(loaded, values, options, p.Capabilities, d.HelmOptions().SkipSchemaValidation)
	if err != nil {
		return nil, &SchemaError{Bundle: d.Bundle.Name, Err: err}
	}
	return made, nil
}

// renderedObjects are what the templates of a chart gave, hooks as well.
func renderedObjects(d target.Deployment, files map[string]string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, name := range slices.Sorted(maps.Keys(files)) {
		// What Helm leaves out (helm.sh/helm/v3, pkg/action/action.go, renderResources).
		if strings.HasPrefix(path.Base(name), "_") || strings.HasSuffix(name, "NOTES.txt") {
			continue
		}
		for _, document := range parted(files[name]) {
			found, err := manifest.Parse([]byte(document))
			if err != nil {
				return nil, &ManifestError{Bundle: d.Bundle.Name, Err: fmt.Errorf("%s: %w", name, err)}
			}
			objects = append(objects, found...)
		}
	}
	return objects, nil
}

// parted are the documents of a rendered file as Helm finds them, who lets one begin
// behind its separator.
func parted(file string) []string {
	found := releaseutil.SplitManifests(file)
	names := slices.Collect(maps.Keys(found))
	sort.Sort(releaseutil.BySplitManifestsOrder(names))
	documents := make([]string, len(names))
	for i, name := range names {
		documents[i] = found[name]
	}
	return documents
}

// kustomized puts objects through the kustomization of the bundle.
func (c *Charts) kustomized(d target.Deployment, dir string, objects []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	rendered, err := manifest.Join(objects)
	if err != nil {
		return nil, err
	}
	built, err := c.kustomize(d.Bundle, dir, []byte(rendered))
	if err != nil {
		return nil, err
	}
	return manifest.Parse(built)
}

// changedChart is a chart that stands for original and renders nothing but
// objects. Its CRDs are the original's.
func changedChart(original *chart.Chart, objects []*unstructured.Unstructured) (*chart.Chart, error) {
	metadata := *original.Metadata
	metadata.Dependencies = nil
	described, err := yaml.Marshal(metadata)
	if err != nil {
		return nil, fmt.Errorf("writing the chart %s: %w", original.Name(), err)
	}
	stream, err := manifest.Join(objects)
	if err != nil {
		return nil, err
	}
	files := append([]*loader.BufferedFile{{Name: chartutil.ChartfileName, Data: described}}, quoted("rendered.yaml", []byte(stream))...)
	for i, crd := range original.CRDObjects() {
		files = append(files, &loader.BufferedFile{Name: fmt.Sprintf("crds/%03d.yaml", i), Data: crd.File.Data})
	}
	return loader.LoadFiles(files)
}
