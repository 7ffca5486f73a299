package render

import (
	"fmt"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
)

// ChartError reports that the files of a bundle are not a chart.
type ChartError struct {
	Bundle string
	Err    error
}

func (e *ChartError) Error() string {
	return fmt.Sprintf("reading the chart of bundle %s: %v", e.Bundle, e.Err)
}

// Unwrap returns the cause.
func (e *ChartError) Unwrap() error { return e.Err }

// OverlayError reports that an overlay cannot be applied to the manifests.
type OverlayError struct {
	Bundle string
	Err    error
}

func (e *OverlayError) Error() string { return fmt.Sprintf("bundle %s: %v", e.Bundle, e.Err) }

// Unwrap returns the cause.
func (e *OverlayError) Unwrap() error { return e.Err }

// ManifestError reports that a manifest, rendered or not, is not valid.
type ManifestError struct {
	Bundle string
	Err    error
}

func (e *ManifestError) Error() string { return fmt.Sprintf("bundle %s: %v", e.Bundle, e.Err) }

// Unwrap returns the cause.
func (e *ManifestError) Unwrap() error { return e.Err }

// PlaceError adds the place of an object to an error.
type PlaceError struct {
	// Place is a file or a template, see PlaceOf.
	Place string
	Err   error
}

func (e *PlaceError) Error() string { return e.Place + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *PlaceError) Unwrap() error { return e.Err }

// TemplateError reports that a template of a chart cannot be rendered.
type TemplateError struct {
	Bundle string
	// Public is the part of the error that no template has made, such as
	// "web/templates/a.yaml:3:4, in include". It is "" if there is no such part.
	Public string
	Err    error
}

// PublicText is the error without what templates have made.
func (e *TemplateError) PublicText() string {
	text := "rendering the chart of bundle " + e.Bundle + ": "
	if e.Public != "" {
		text += e.Public + "; "
	}
	return text + notShown
}

func (e *TemplateError) Error() string {
	return fmt.Sprintf("rendering the chart of bundle %s: %v", e.Bundle, e.Err)
}

// Unwrap returns the cause.
func (e *TemplateError) Unwrap() error { return e.Err }

// SchemaError reports that values are not valid for the schema of a chart.
type SchemaError struct {
	Bundle string
	Err    error
}

func (e *SchemaError) Error() string {
	return fmt.Sprintf("the values of bundle %s are not valid for its chart: %v", e.Bundle, e.Err)
}

// Unwrap returns the cause.
func (e *SchemaError) Unwrap() error { return e.Err }

// KubeVersionError reports that a chart does not support the Kubernetes version of a cluster.
type KubeVersionError struct {
	Bundle, Wants, Version string
}

func (e *KubeVersionError) Error() string {
	return fmt.Sprintf("the chart of bundle %s requires Kubernetes %s, and the cluster has %s", e.Bundle, e.Wants, e.Version)
}

// MaxStored is the limit in bytes for a release record with its chart and objects. The rest of
// manifest.MaxRecord is for times, notes and the reason why a revision failed.
const MaxStored = manifest.MaxRecord - 16<<10

// TooLargeError reports that a release is too large to be stored on a cluster.
type TooLargeError struct {
	Bundle string
	Size   int // of the record in bytes
	// Largest are the largest files of the chart with their sizes in bytes, largest
	// first.
	Largest []NamedSize
}

// TooManyObjectsError reports that the objects of a release are too large to be read again.
type TooManyObjectsError struct {
	Bundle string
	Size   int // of the manifest in bytes
}

func (e *TooManyObjectsError) Error() string {
	return fmt.Sprintf("bundle %s: its objects have %d MiB, and the limit for a release is %d MiB; split the bundle",
		e.Bundle, e.Size>>20, manifest.MaxSize>>20)
}

// PublicText is the error without the size, which a template can make of a secret.
func (e *TooManyObjectsError) PublicText() string {
	return fmt.Sprintf("bundle %s: its objects exceed the limit for a release, %d MiB; split the bundle", e.Bundle, manifest.MaxSize>>20)
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
	return fmt.Sprintf("bundle %s: its release record would have %d KiB, and the limit on a cluster is %d KiB: "+
		"exclude files with a .helmignore or .fleetignore, or split the bundle; the largest files are %s",
		e.Bundle, e.Size>>10, MaxStored>>10, strings.Join(files, ", "))
}

// DuplicateObjectError reports that a bundle contains an object twice.
type DuplicateObjectError struct {
	Object string // diff.Object.Key
	// Places are files, or templates of a chart.
	Places [2]string
}

func (e *DuplicateObjectError) Error() string {
	if e.Places[0] == e.Places[1] {
		return fmt.Sprintf("%s is defined twice in %s; remove one of them", e.Object, e.Places[0])
	}
	return fmt.Sprintf("%s is defined twice, in %s and in %s; remove one of them", e.Object, e.Places[0], e.Places[1])
}
