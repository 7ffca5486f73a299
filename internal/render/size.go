package render

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// spareRecord is left for what is in a record and not known before: times, notes and
// the reason why a revision failed.
const spareRecord = 16 << 10

// TooLargeError says that a release cannot be stored on a cluster.
type TooLargeError struct {
	Bundle string
	Size   int // of the record in bytes
	// Largest are the largest files of the chart with their sizes in bytes, largest
	// first.
	Largest []NamedSize
}

// ManyObjectsError says that the objects of a release are too large to be read again.
type ManyObjectsError struct {
	Bundle string
	Size   int // of the manifest in bytes
}

func (e *ManyObjectsError) Error() string {
	return fmt.Sprintf("bundle %s: its objects have %d MiB, and a release may have %d MiB: make several bundles of it", e.Bundle, e.Size>>20, manifest.MaxSize>>20)
}

// NamedSize is a file and its size in bytes.
type NamedSize struct {
	Name string
	Size int
}

func (e *TooLargeError) Error() string {
	files := make([]string, len(e.Largest))
	for i, file := range e.Largest {
		files[i] = fmt.Sprintf("%s (%d KiB)", file.Name, file.Size>>10)
	}
	return fmt.Sprintf("bundle %s: its release record would have %d KiB, and there is room for %d KiB on a cluster: "+
		"leave files out with a .helmignore or .fleetignore, or make several bundles of it; the largest files are %s",
		e.Bundle, e.Size>>10, (manifest.MaxRecord-spareRecord)>>10, strings.Join(files, ", "))
}

// checkSize says whether the record of a release fits into a cluster.
func (c *Charts) checkSize(d target.Deployment, made rendered, p Environment) error {
	stream, err := manifest.Join(made.objects)
	if err != nil {
		return err
	}
	if len(stream) > manifest.MaxSize {
		return &ManyObjectsError{Bundle: d.Bundle.Name, Size: len(stream)}
	}
	// What is small need not be compressed to know that it fits.
	const harmless = manifest.MaxRecord / 4
	if sizeOf(made.chart)+len(stream) < harmless {
		return nil
	}
	whole, err := c.render(d, p) // Hooks as well.
	if err != nil {
		return err
	}
	if stream, err = manifest.Join(whole.objects); err != nil {
		return err
	}
	installed, err := c.Chart(d, p)
	if err != nil {
		return err
	}
	size, err := recordSize(&helmrelease.Release{Name: d.Release, Namespace: d.Namespace, Chart: installed, Config: Values(d), Manifest: stream, Info: &helmrelease.Info{}})
	if err != nil || size <= manifest.MaxRecord-spareRecord {
		return err
	}
	return &TooLargeError{Bundle: d.Bundle.Name, Size: size, Largest: largestFiles(installed)}
}

// recordSize is how large a record is as Helm writes it
// (helm.sh/helm/v3/pkg/storage/driver/util.go, encodeRelease).
func recordSize(record *helmrelease.Release) (int, error) {
	content, err := json.Marshal(record)
	if err != nil {
		return 0, fmt.Errorf("encoding release %s: %w", record.Name, err)
	}
	var compressed bytes.Buffer
	writer, err := gzip.NewWriterLevel(&compressed, gzip.BestCompression)
	if err != nil {
		return 0, fmt.Errorf("compressing release %s: %w", record.Name, err)
	}
	if _, err := writer.Write(content); err != nil {
		return 0, fmt.Errorf("compressing release %s: %w", record.Name, err)
	}
	if err := writer.Close(); err != nil {
		return 0, fmt.Errorf("compressing release %s: %w", record.Name, err)
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

// storedFiles are the files of a chart that a record holds: not those of its
// dependencies, which Helm leaves out.
func storedFiles(c *chart.Chart) []NamedSize {
	var files []NamedSize
	for _, list := range [][]*chart.File{c.Templates, c.Files} {
		for _, file := range list {
			files = append(files, NamedSize{Name: file.Name, Size: len(file.Data)})
		}
	}
	return files
}

func largestFiles(c *chart.Chart) []NamedSize {
	const named = 3
	files := storedFiles(c)
	slices.SortFunc(files, func(a, b NamedSize) int { return cmp.Or(cmp.Compare(b.Size, a.Size), cmp.Compare(a.Name, b.Name)) })
	return files[:min(named, len(files))]
}
