// Package render makes the objects of a deployment from the files of its bundle: it applies
// templates, overlays and kustomizations, and reports whether another rendering would have the same
// result. It writes nothing to a cluster.
package render

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/yaml"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/chart"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/sops"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Loader turns bundles into charts. A chart is read once and cached by digest; Helm changes a chart
// while it renders, so each rendering gets its own copy. A Loader renders nothing: the chart of a
// kustomization does not contain its objects.
type Loader struct {
	charts sync.Map // chartKey -> *helmchart.Chart
}

// chartKey names everything of a deployment that its chart depends on.
type chartKey struct {
	content  string // digest
	style    Style
	overlays string
}

// Overlay applies the overlays of these names to the files of a bundle.
type Overlay func(files []bundle.File, names []string) ([]bundle.File, error)

// Style is how Fleet treats the files of a bundle (internal/bundlereader/style.go): as a Helm
// chart, a kustomization, both, or plain manifests if the bundle is neither.
type Style struct {
	Helm, Kustomize        bool
	ChartDir, KustomizeDir string
}

func styleOf(d target.Deployment) (Style, error) {
	var s Style
	s.ChartDir, s.Helm = d.Bundle.ChartDirectory(d.Options.Helm)
	if !s.Helm && d.Options.Helm != nil && d.Options.Helm.Chart != "" {
		return Style{}, &ChartError{
			Bundle: d.Bundle.Name,
			Err:    fmt.Errorf("helm.chart names %q, which contains no %s", d.Options.Helm.Chart, chartutil.ChartfileName),
		}
	}
	dir := ""
	if d.Options.Kustomize != nil {
		dir = d.Options.Kustomize.Dir
	}
	var err error
	s.KustomizeDir, s.Kustomize, err = d.Bundle.Kustomization(dir)
	return s, err
}

// Load returns the chart of a deployment, a copy that the caller may change.
// lay applies overlays. It is nil where patches must not run: then the chart of manifests with
// overlays has no manifests.
func (l *Loader) Load(d target.Deployment, lay Overlay) (*helmchart.Chart, Style, error) {
	loaded, style, err := l.load(d, lay)
	return loaded, style, d.MaskError(err)
}

func (l *Loader) load(d target.Deployment, lay Overlay) (*helmchart.Chart, Style, error) {
	made, err := styleOf(d)
	if err != nil {
		return nil, made, err
	}
	content := d.Bundle.ContentOf(d.Options.Helm)
	if d.HasWriteOnlyFiles() { // The key does not include write-only files.
		read, err := read(d, made, content, lay)
		return read, made, err
	}
	key := chartKey{content: content, style: made, overlays: strings.Join(overlays(d), "\n")}
	if kept, ok := l.charts.Load(key); ok {
		if read, ok := kept.(*helmchart.Chart); ok {
			return CopyChart(read), made, nil
		}
	}
	read, err := read(d, made, content, lay)
	if err != nil {
		return nil, made, err
	}
	l.charts.Store(key, read)
	return CopyChart(read), made, nil
}

// refuseEncrypted returns an error for a file that sops has encrypted, because it would be deployed
// in encrypted form. For a chart that is not packed, such files were refused when its bundle was
// read.
func refuseEncrypted(c *helmchart.Chart) error {
	for _, file := range c.Raw {
		if sops.Encrypted(file.Data) {
			return fmt.Errorf("its file %s is encrypted by sops, and files of a chart are not decrypted", file.Name)
		}
	}
	for _, child := range c.Dependencies() {
		if err := refuseEncrypted(child); err != nil {
			return err
		}
	}
	return nil
}

// read makes the chart of a deployment. The version of the chart is made from content.
func read(d target.Deployment, made Style, content string, lay Overlay) (*helmchart.Chart, error) {
	files, err := makeChartFiles(d, made, content, lay)
	if err != nil {
		return nil, err
	}
	return chartOf(d, files)
}

func chartOf(d target.Deployment, files []*loader.BufferedFile) (*helmchart.Chart, error) {
	if err := chart.CheckPacked(files); err != nil {
		return nil, &ChartError{Bundle: d.Bundle.Name, Err: err}
	}
	loaded, err := loader.LoadFiles(files)
	if err != nil {
		return nil, &ChartError{Bundle: d.Bundle.Name, Err: err}
	}
	if err := refuseEncrypted(loaded); err != nil {
		return nil, &ChartError{Bundle: d.Bundle.Name, Err: err}
	}
	return loaded, nil
}

// CopyChart copies those parts of a chart that Helm and templates can change while it renders:
// metadata, values and the tree of dependencies. Files are shared, as nothing ever changes them.
func CopyChart(original *helmchart.Chart) *helmchart.Chart {
	copied := *original
	if original.Metadata != nil {
		metadata := *original.Metadata
		metadata.Dependencies = slices.Clone(metadata.Dependencies) // nil remains nil, because Helm compares it with nil.
		for i, dependency := range metadata.Dependencies {
			wanted := *dependency
			metadata.Dependencies[i] = &wanted
		}
		metadata.Maintainers = slices.Clone(metadata.Maintainers)
		for i, maintainer := range metadata.Maintainers {
			named := *maintainer
			metadata.Maintainers[i] = &named
		}
		metadata.Annotations = maps.Clone(metadata.Annotations)
		copied.Metadata = &metadata
	}
	if original.Values != nil {
		copied.Values = fleetyaml.CopyValues(original.Values)
	}
	copied.SetDependencies()
	for _, dependency := range original.Dependencies() {
		copied.AddDependency(CopyChart(dependency))
	}
	return &copied
}

func makeChartFiles(d target.Deployment, s Style, content string, lay Overlay) ([]*loader.BufferedFile, error) {
	if err := checkWriteOnlyStyle(d, s); err != nil {
		return nil, err
	}
	switch {
	case s.Helm:
		return chartAt(d.Bundle, s.ChartDir)
	case s.Kustomize, lay == nil && len(overlays(d)) > 0:
		return generatedChart(d.Bundle, content)
	}
	files, err := laid(d, lay)
	if err != nil {
		return nil, &OverlayError{Bundle: d.Bundle.Name, Err: err}
	}
	made, err := rawChart(d.Bundle, files, content)
	if err != nil {
		return nil, err
	}
	added, err := writeOnlyFiles(d, files)
	return append(made, added...), err
}

// laid returns the manifests of a deployment with its overlays.
func laid(d target.Deployment, lay Overlay) ([]bundle.File, error) {
	files := d.Bundle.PlainFiles()
	if names := overlays(d); len(names) > 0 {
		return lay(files, names)
	}
	return slices.DeleteFunc(slices.Clone(files), func(file bundle.File) bool { return strings.HasPrefix(file.Name, OverlaysDir) }), nil
}

func overlays(d target.Deployment) []string {
	if d.Options.YAML == nil {
		return nil
	}
	return d.Options.YAML.Overlays
}

func hasFile(files []bundle.File, name string) bool {
	return slices.ContainsFunc(files, func(f bundle.File) bool { return f.Name == name })
}

// chartAt reads a folder of a bundle, or a packed chart, as a chart. A .helmignore of the folder is
// applied if the bundle contains it. Those of subcharts are not, as with Helm's command.
func chartAt(b *bundle.Bundle, dir string) ([]*loader.BufferedFile, error) {
	prefix := ""
	if dir != "." {
		prefix = dir + "/"
	}
	var (
		below     []*loader.BufferedFile
		isLeftOut = func(string) bool { return false }
		err       error
	)
	for _, file := range b.Files {
		name, isBelow := strings.CutPrefix(file.Name, prefix)
		switch {
		case file.Name == dir:
			return unpack(b.Name, file)
		case name == bundle.HelmIgnoreFile && isBelow:
			if isLeftOut, err = chart.IgnoreRules(file.Content); err != nil {
				return nil, &ChartError{Bundle: b.Name, Err: fmt.Errorf("%s: %w", file.Name, err)}
			}
		case isBelow:
			below = append(below, &loader.BufferedFile{Name: name, Data: file.Content})
		}
	}
	return slices.DeleteFunc(below, func(file *loader.BufferedFile) bool { return isLeftOut(file.Name) }), nil
}

// unpack reads a packed chart.
func unpack(bundleName string, file bundle.File) ([]*loader.BufferedFile, error) {
	files, err := chart.Unpack(file.Content)
	if err != nil {
		return nil, &ChartError{Bundle: bundleName, Err: fmt.Errorf("unpacking %s: %w", file.Name, err)}
	}
	return files, nil
}

// rawChart makes a chart of plain manifests. They are files beside the templates, and one template
// per file only quotes it: nothing in a manifest is read as a template, while Helm sorts the
// objects and runs their hooks as with any other chart. Manifests below templates/ are templates,
// as in Fleet (internal/helmdeployer/render/helm.go). A _helpers.tpl there is not included.
func rawChart(b *bundle.Bundle, files []bundle.File, content string) ([]*loader.BufferedFile, error) {
	generated, err := generatedChart(b, content)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if !isManifest(file.Name, files) {
			continue
		}
		if strings.HasPrefix(file.Name, templatesDir) {
			generated = append(generated, &loader.BufferedFile{Name: file.Name, Data: file.Content})
			continue
		}
		stream, err := rawManifest(file)
		if err != nil {
			return nil, &ManifestError{Bundle: b.Name, Err: err}
		}
		generated = append(generated, quoted(file.Name, stream)...)
	}
	return generated, nil
}

// generatedChart returns a chart without templates, for objects that no chart renders. Its version
// is made from content.
func generatedChart(b *bundle.Bundle, content string) ([]*loader.BufferedFile, error) {
	metadata, err := yaml.Marshal(helmchart.Metadata{
		APIVersion:  helmchart.APIVersionV2,
		Name:        b.Name,
		Version:     bundle.GeneratedVersion(content),
		Description: "Manifests of the bundle " + b.Name,
	})
	if err != nil {
		return nil, fmt.Errorf("writing the chart of bundle %s: %w", b.Name, err)
	}
	return []*loader.BufferedFile{{Name: chartutil.ChartfileName, Data: metadata}}, nil
}

// isManifest reports whether a file of a raw bundle is applied: a YAML or JSON file, but not
// fleet.yaml, and no file below a folder that is a separate bundle or chart (Fleet:
// internal/helmdeployer/rawyaml/resources.go).
func isManifest(name string, files []bundle.File) bool {
	switch path.Ext(name) {
	case ".yaml", ".yml", ".json":
	default:
		return false
	}
	if isFleetYAML(path.Base(name)) {
		return false
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		for _, own := range []string{"fleet.yaml", "fleet.yml", chartutil.ChartfileName} {
			if hasFile(files, dir+"/"+own) {
				return false
			}
		}
	}
	return true
}

func isFleetYAML(base string) bool { return base == "fleet.yaml" || base == "fleet.yml" }

// rawManifest checks a file of a raw bundle. A document without a kind is an error. Fleet leaves
// such a document out, so that an object is not deployed if a typo has removed its kind.
func rawManifest(file bundle.File) ([]byte, error) {
	objects, err := manifest.ParseFile(file.Content)
	if _, incomplete := errors.AsType[*manifest.IncompleteError](err); incomplete {
		return nil, fmt.Errorf("%s: %w; if the file is not a manifest, exclude it with a .fleetignore", file.Name, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file.Name, err)
	}
	if len(objects) == 0 {
		return nil, nil
	}
	stream, err := manifest.Join(objects)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file.Name, err)
	}
	return []byte(stream), nil
}
