package helm

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/yaml"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Charts turns bundles into charts. What it keeps are the files of a chart,
// never a loaded one: Helm changes a chart while it renders, so each rendering
// loads its own.
type Charts struct {
	files sync.Map // chartKey -> []*loader.BufferedFile
}

// chartKey names everything of a deployment that the files of its chart depend
// on.
type chartKey struct {
	content  string // digest
	chart    string
	overlays string
}

// load makes the chart of a deployment. Every call returns a chart of its own.
func (c *Charts) load(d target.Deployment) (*chart.Chart, error) {
	files, err := c.chartFiles(d)
	if err != nil {
		return nil, err
	}
	loaded, err := loader.LoadFiles(files)
	if err != nil {
		return nil, fmt.Errorf("reading the chart of bundle %s: %w", d.Bundle.Name, err)
	}
	return loaded, nil
}

func (c *Charts) chartFiles(d target.Deployment) ([]*loader.BufferedFile, error) {
	key := chartKey{content: d.Bundle.Content, chart: chartPath(d), overlays: strings.Join(overlays(d), "\n")}
	if files, ok := c.files.Load(key); ok {
		if buffered, ok := files.([]*loader.BufferedFile); ok {
			return buffered, nil
		}
	}
	files, err := makeChartFiles(d)
	if err != nil {
		return nil, err
	}
	c.files.Store(key, files)
	return files, nil
}

// makeChartFiles decides the style of a bundle as Fleet does
// (internal/bundlereader/style.go): a Chart.yaml makes it a Helm chart, else
// its files are raw YAML.
func makeChartFiles(d target.Deployment) ([]*loader.BufferedFile, error) {
	dir := chartPath(d)
	if hasFile(d.Bundle.Files, path.Join(dir, chartutil.ChartfileName)) {
		return chartBelow(d.Bundle.Files, dir), nil
	}
	if dir != "" {
		return nil, fmt.Errorf("bundle %s: helm.chart names %q, which holds no %s", d.Bundle.Name, dir, chartutil.ChartfileName)
	}
	files, err := overlay(d.Bundle.Files, overlays(d))
	if err != nil {
		return nil, fmt.Errorf("bundle %s: %w", d.Bundle.Name, err)
	}
	return rawChart(d.Bundle, files)
}

func chartPath(d target.Deployment) string {
	if d.Options.Helm == nil || d.Options.Helm.Chart == "" {
		return ""
	}
	cleaned := path.Clean(d.Options.Helm.Chart)
	if cleaned == "." {
		return ""
	}
	return cleaned
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

// chartBelow takes the files of one folder as a chart.
func chartBelow(files []bundle.File, dir string) []*loader.BufferedFile {
	prefix := ""
	if dir != "" {
		prefix = dir + "/"
	}
	var below []*loader.BufferedFile
	for _, file := range files {
		if name, ok := strings.CutPrefix(file.Name, prefix); ok {
			below = append(below, &loader.BufferedFile{Name: name, Data: file.Content})
		}
	}
	return below
}

const (
	// rawDir holds the manifests of a raw bundle inside its generated chart.
	rawDir = "manifests/"
	// templatesDir holds what Helm renders.
	templatesDir = "templates/"
)

// rawChart makes a chart of plain manifests. They lie beside the templates, and
// one template per file only quotes it: nothing in them is read as a template,
// while Helm sorts them and runs their hooks as it does with any chart's.
// Files below templates/ are templates, as in Fleet
// (internal/helmdeployer/render/helm.go).
func rawChart(b *bundle.Bundle, files []bundle.File) ([]*loader.BufferedFile, error) {
	metadata, err := yaml.Marshal(chart.Metadata{
		APIVersion:  chart.APIVersionV2,
		Name:        b.Name,
		Version:     rawVersion(b.Content),
		Description: "Manifests of the bundle " + b.Name,
	})
	if err != nil {
		return nil, fmt.Errorf("writing the chart of bundle %s: %w", b.Name, err)
	}
	generated := []*loader.BufferedFile{{Name: chartutil.ChartfileName, Data: metadata}}
	for _, file := range files {
		if strings.HasPrefix(file.Name, templatesDir) {
			generated = append(generated, &loader.BufferedFile{Name: file.Name, Data: file.Content})
			continue
		}
		if !isManifest(file.Name, files) {
			continue
		}
		manifest, err := rawManifest(file)
		if err != nil {
			return nil, fmt.Errorf("bundle %s: %w", b.Name, err)
		}
		if len(manifest) == 0 {
			continue
		}
		quote := fmt.Sprintf("{{ .Files.Get %q }}\n", rawDir+file.Name)
		generated = append(generated,
			&loader.BufferedFile{Name: rawDir + file.Name, Data: manifest},
			&loader.BufferedFile{Name: templatesDir + rawDir + file.Name + ".yaml", Data: []byte(quote)},
		)
	}
	return generated, nil
}

// rawVersion is the version of a generated chart. It comes from the bundle's
// content and not from a commit, so that a commit which leaves the files as they
// were leaves the release as it was.
func rawVersion(digest string) string {
	const length = 12
	hex := digest[strings.LastIndex(digest, "-")+1:]
	return "0.0.0+" + hex[:min(length, len(hex))]
}

// isManifest says whether a file of a raw bundle is applied: YAML and JSON, but
// not fleet.yaml, and nothing below a folder that is a bundle or a chart of its
// own (Fleet: internal/helmdeployer/rawyaml/resources.go).
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
