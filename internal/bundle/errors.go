package bundle

import (
	"fmt"
	"strings"
)

// NoMatchError reports that paths match no folder.
type NoMatchError struct {
	Paths []string
}

// Error names the paths.
func (e *NoMatchError) Error() string {
	quoted := make([]string, len(e.Paths))
	for i, path := range e.Paths {
		quoted[i] = fmt.Sprintf("%q", path)
	}
	return "no folder matches " + strings.Join(quoted, ", ")
}

// EmptyError reports that there are no files for a bundle.
type EmptyError struct {
	// Paths are the paths that were searched; none for a bundle made of one folder.
	Paths []string
}

// Error describes which files are missing.
func (e *EmptyError) Error() string {
	if len(e.Paths) == 0 {
		return "the folder contains no files"
	}
	return fmt.Sprintf("no bundle found below %s: no folder contains manifests (.yaml, .yml, .json), or a fleet.yaml with other files",
		strings.Join(e.Paths, ", "))
}

// DuplicateNameError reports that two folders make bundles of the same name.
type DuplicateNameError struct {
	Name  string
	Paths [2]string
}

// Error names both folders.
func (e *DuplicateNameError) Error() string {
	return fmt.Sprintf("folders %s and %s both define a bundle named %q; set another name in one of the two fleet.yaml files",
		e.Paths[0], e.Paths[1], e.Name)
}

// PathError reports that a path of a source makes no bundle.
type PathError struct {
	Path string
	// Outside is true if the path leads out of the source; otherwise the path is hidden.
	Outside bool
}

// Error names the reason.
func (e *PathError) Error() string {
	if e.Outside {
		return fmt.Sprintf("path %q is outside of the source", e.Path)
	}
	return fmt.Sprintf("path %q is hidden, and hidden folders are not read as bundles; rename it", e.Path)
}

// OutsideError reports that an option leads out of the bundle.
type OutsideError struct {
	// File is the fleet.yaml, Option the key there, such as "kustomize.dir".
	File, Option, Name string
}

// Error names the option.
func (e *OutsideError) Error() string {
	return inFile(e.File, fmt.Sprintf("%s %q is outside of the bundle's folder", e.Option, e.Name))
}

// ChartError reports that helm.chart does not lead to a chart of the bundle.
type ChartError struct {
	// File is the fleet.yaml, Chart its value of helm.chart.
	File, Chart string
	// Outside is true if the path leads out of the bundle, Fetched if the fetched files are no
	// chart.
	Outside, Fetched bool
}

// Error describes what helm.chart must be.
func (e *ChartError) Error() string {
	if e.Outside {
		return inFile(e.File, fmt.Sprintf("helm.chart %q is outside of the bundle's folder; move the chart into it", e.Chart))
	}
	if e.Fetched {
		return inFile(e.File, fmt.Sprintf("the files fetched for helm.chart %q contain no Chart.yaml", Shown(e.Chart)))
	}
	return inFile(e.File, fmt.Sprintf("helm.chart %q is neither a folder of the bundle with a Chart.yaml, nor a packed chart, "+
		"nor the address of a chart", e.Chart))
}

// ValuesFileError reports that a values file cannot be used.
type ValuesFileError struct {
	// File is the fleet.yaml that names Name.
	File, Name string
	Err        error
}

// Error names both files.
func (e *ValuesFileError) Error() string {
	return inFile(e.File, fmt.Sprintf("reading values file %q: %v", e.Name, e.Err))
}

// Unwrap gives the cause.
func (e *ValuesFileError) Unwrap() error { return e.Err }

// OptionsFileError reports that the file with the options of a bundle cannot be read.
type OptionsFileError struct {
	Name string
	Err  error
}

// Error names the file.
func (e *OptionsFileError) Error() string {
	return fmt.Sprintf("reading the options file %q: %v", e.Name, e.Err)
}

// Unwrap gives the cause.
func (e *OptionsFileError) Unwrap() error { return e.Err }

// LinkError reports that a symbolic link cannot be followed.
type LinkError struct {
	Path string
	Err  error
}

// Error names the link.
func (e *LinkError) Error() string {
	return fmt.Sprintf("following the symbolic link %s: %v", e.Path, e.Err)
}

// Unwrap gives the cause.
func (e *LinkError) Unwrap() error { return e.Err }

func inFile(file, message string) string {
	if file == "" {
		return message
	}
	return file + ": " + message
}

// inFileError adds the name of the file to err.
func inFileError(file string, err error) error {
	if file == "" {
		return err
	}
	return fmt.Errorf("%s: %w", file, err)
}
