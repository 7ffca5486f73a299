package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
)

const (
	// rawDir contains the manifests of a raw bundle inside its generated chart.
	rawDir = "manifests/"
	// templatesDir contains the files that Helm renders.
	templatesDir = "templates/"
	// OverlaysDir contains the folders that yaml.overlays names.
	OverlaysDir = "overlays/"
	// changedFile contains the objects of a chart that were changed after its templates ran, and
	// builtFile those of a kustomization.
	changedFile, builtFile = "rendered.yaml", "kustomize.yaml"
)

// templateOf returns the name of the template that quotes a manifest of a chart.
func templateOf(c *chart.Chart, name string) string {
	return c.Name() + "/" + templatesDir + rawDir + name + ".yaml"
}

// quoted puts a manifest into a chart so that no part of it is read as a template.
func quoted(name string, stream []byte) []*loader.BufferedFile {
	if len(stream) == 0 {
		return nil
	}
	quote := fmt.Sprintf("{{ .Files.Get %q }}\n", rawDir+name)
	return []*loader.BufferedFile{
		{Name: rawDir + name, Data: stream},
		{Name: templatesDir + rawDir + name + ".yaml", Data: []byte(quote)},
	}
}

// ChangedChart returns a chart that replaces original. It renders only stream, and has the files
// crds below crds/.
func ChangedChart(original *chart.Chart, stream string, crds [][]byte) *chart.Chart {
	metadata := *original.Metadata
	metadata.Dependencies = nil
	return quotingChart(metadata, changedFile, stream, crds)
}

// quotingChart returns a chart with one template, which quotes a manifest, and the files crds below
// crds/.
func quotingChart(metadata chart.Metadata, name, stream string, crds [][]byte) *chart.Chart {
	made := &chart.Chart{Metadata: &metadata}
	for _, file := range quoted(name, []byte(stream)) {
		if strings.HasPrefix(file.Name, templatesDir) {
			made.Templates = append(made.Templates, &chart.File{Name: file.Name, Data: file.Data})
		} else {
			made.Files = append(made.Files, &chart.File{Name: file.Name, Data: file.Data})
		}
	}
	for i, crd := range crds {
		made.Files = append(made.Files, &chart.File{Name: fmt.Sprintf("crds/%03d.yaml", i), Data: crd})
	}
	return made
}

// bareChart returns a chart that renders nothing but its notes, and has the files crds below crds/.
// outputs are those of the templates of original, by the names of the templates.
func bareChart(original *chart.Chart, outputs map[string]string, crds []chart.CRD) *chart.Chart {
	metadata := *original.Metadata
	metadata.Dependencies, metadata.Type = nil, "" // A library renders nothing.
	made := &chart.Chart{Metadata: &metadata}
	for i, name := range slices.Sorted(maps.Keys(outputs)) {
		if !isNotes(name) {
			continue
		}
		key := fmt.Sprintf("%s%06d", rawDir, i)
		made.Files = append(made.Files, &chart.File{Name: key, Data: []byte(outputs[name])})
		made.Templates = append(made.Templates, &chart.File{
			Name: strings.TrimPrefix(name, original.Name()+"/"), Data: fmt.Appendf(nil, "{{ .Files.Get %q }}", key),
		})
	}
	for _, crd := range crds {
		made.Files = append(made.Files, crd.File)
	}
	return made
}
