package render

import (
	"fmt"
	"strings"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// crdDocuments reads files below crds/, whose objects can be of any kind.
func crdDocuments(d target.Deployment, files []chart.CRD) ([]diff.Document, error) {
	var found []diff.Document
	for _, file := range files {
		objects, err := manifest.ParseAll(file.File.Data)
		if err != nil {
			return nil, &ManifestError{Bundle: d.Bundle.Name, Err: fmt.Errorf("%s: %w", file.Filename, err)}
		}
		documents, err := manifest.Documents(objects, nil, d.Namespace)
		if err != nil {
			return nil, err
		}
		found = append(found, placed(documents, file.Filename)...)
	}
	return found, nil
}

// Locate returns the file of an object in its source, and its line if it is a plain manifest, else
// 0. place is the place of its document, see PlaceOf.
func (c *Charts) Locate(d target.Deployment, place, kind, name string) (file string, line int) {
	file, _, _ = strings.Cut(place, " (document ")
	if _, isChart := d.Bundle.ChartDirectory(d.Options.Helm); isChart || file == "" {
		return place, 0
	}
	for _, plain := range d.Bundle.PlainFiles() {
		if plain.Name == file {
			return file, manifest.LineOf(plain.Content, kind, strings.TrimSuffix(name, manifest.GeneratedName))
		}
	}
	return place, 0
}
