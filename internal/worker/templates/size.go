package templates

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// checkSize returns an error if the record of a release is too large for a cluster.
func checkSize(d target.Deployment, made rendered, documents []diff.Document) error {
	size := 0
	for _, document := range documents {
		size += len(document.Content)
	}
	// A small record fits even without compression.
	const harmless = manifest.MaxRecord / 4
	if sizeOf(made.chart)+size < harmless {
		return nil
	}
	stream, err := manifest.Join(made.objects)
	if err != nil {
		return err
	}
	if len(stream) > manifest.MaxSize {
		return &render.TooManyObjectsError{Bundle: d.Bundle.Name, Size: len(stream)}
	}
	hooks, err := manifest.Join(made.hooks)
	if err != nil {
		return err
	}
	stream += hooks
	installed := made.chart
	if d.Options.Namespace != "" || made.style.Kustomize {
		installed = render.ChangedChart(made.chart, stream, crdsOf(made.chart))
	}
	record := &helmrelease.Release{
		Name: d.Release, Namespace: d.Namespace,
		Chart: installed, Config: d.PlainValues(), Manifest: stream, Info: &helmrelease.Info{},
	}
	// The fast compression is worse than that of Helm, and is enough for most charts.
	for _, level := range []int{gzip.BestSpeed, gzip.BestCompression} {
		if size, err = recordSize(record, level); err != nil || size <= render.MaxStored {
			return err
		}
	}
	return &render.TooLargeError{Bundle: d.Bundle.Name, Size: size, Largest: largestFiles(installed)}
}

// recordSize returns the size of a record as Helm writes it
// (helm.sh/helm/v3/pkg/storage/driver/util.go, encodeRelease), for a level of compression.
func recordSize(record *helmrelease.Release, level int) (int, error) {
	var compressed bytes.Buffer
	writer, err := gzip.NewWriterLevel(&compressed, level)
	if err == nil {
		err = errors.Join(json.NewEncoder(writer).Encode(record), writer.Close())
	}
	if err != nil {
		return 0, fmt.Errorf("encoding release %s: %w", record.Name, err)
	}
	return base64.StdEncoding.EncodedLen(compressed.Len()), nil
}

func sizeOf(c *chart.Chart) int {
	total := 0
	for _, file := range storedFiles(c) {
		total += file.Size
	}
	return total
}

// storedFiles returns the files of a chart that a record contains. Helm leaves out those of its
// dependencies.
func storedFiles(c *chart.Chart) []render.NamedSize {
	var files []render.NamedSize
	for _, list := range [][]*chart.File{c.Templates, c.Files} {
		for _, file := range list {
			files = append(files, render.NamedSize{Name: file.Name, Size: len(file.Data)})
		}
	}
	return files
}

func largestFiles(c *chart.Chart) []render.NamedSize {
	const named = 3
	files := storedFiles(c)
	slices.SortFunc(files, func(a, b render.NamedSize) int {
		return cmp.Or(cmp.Compare(b.Size, a.Size), cmp.Compare(a.Name, b.Name))
	})
	return files[:min(named, len(files))]
}
