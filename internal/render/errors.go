package render

import "fmt"

// ChartError says that the files of a bundle are no chart.
type ChartError struct {
	Bundle string
	Err    error
}

func (e *ChartError) Error() string {
	return fmt.Sprintf("reading the chart of bundle %s: %v", e.Bundle, e.Err)
}

// Unwrap gives the cause.
func (e *ChartError) Unwrap() error { return e.Err }

// OverlayError says that an overlay cannot be laid over the manifests.
type OverlayError struct {
	Bundle string
	Err    error
}

func (e *OverlayError) Error() string { return fmt.Sprintf("bundle %s: %v", e.Bundle, e.Err) }

// Unwrap gives the cause.
func (e *OverlayError) Unwrap() error { return e.Err }

// ManifestError says that a manifest, rendered or not, is no YAML.
type ManifestError struct {
	Bundle string
	Err    error
}

func (e *ManifestError) Error() string { return fmt.Sprintf("bundle %s: %v", e.Bundle, e.Err) }

// Unwrap gives the cause.
func (e *ManifestError) Unwrap() error { return e.Err }

// TemplateError says that a template of a chart cannot be rendered.
type TemplateError struct {
	Bundle string
	Err    error
}

func (e *TemplateError) Error() string {
	return fmt.Sprintf("rendering the chart of bundle %s: %v", e.Bundle, e.Err)
}

// Unwrap gives the cause.
func (e *TemplateError) Unwrap() error { return e.Err }

// SchemaError says that values do not fit the schema of a chart.
type SchemaError struct {
	Bundle string
	Err    error
}

func (e *SchemaError) Error() string {
	return fmt.Sprintf("the values of bundle %s do not fit its chart: %v", e.Bundle, e.Err)
}

// Unwrap gives the cause.
func (e *SchemaError) Unwrap() error { return e.Err }

// KubeVersionError says that a chart is not made for the version of a cluster.
type KubeVersionError struct {
	Bundle, Wants, Version string
}

func (e *KubeVersionError) Error() string {
	return fmt.Sprintf("the chart of bundle %s wants Kubernetes %s, the cluster has %s", e.Bundle, e.Wants, e.Version)
}

// ReleaseNameError says that Helm takes no release of this name.
type ReleaseNameError struct {
	Bundle, Name string
	Err          error
}

func (e *ReleaseNameError) Error() string {
	return fmt.Sprintf("bundle %s: release name %q: %v", e.Bundle, e.Name, e.Err)
}

// Unwrap gives the cause.
func (e *ReleaseNameError) Unwrap() error { return e.Err }
