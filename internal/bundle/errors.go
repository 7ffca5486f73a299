package bundle

import (
	"fmt"
	"strings"
)

// NoMatchError says that paths match no folder.
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

// EmptyError says that there is nothing to make a bundle of.
type EmptyError struct {
	// Paths were looked through; none of a bundle made of one folder.
	Paths []string
}

// Error says what was looked for.
func (e *EmptyError) Error() string {
	if len(e.Paths) == 0 {
		return "the folder contains no files"
	}
	return fmt.Sprintf("no bundle found below %s: no folder contains manifests (.yaml, .yml, .json), or a fleet.yaml with other files", strings.Join(e.Paths, ", "))
}

// DuplicateNameError says that two folders make bundles of one name.
type DuplicateNameError struct {
	Name  string
	Paths [2]string
}

// Error names both folders.
func (e *DuplicateNameError) Error() string {
	return fmt.Sprintf("folders %s and %s both define a bundle named %q; set another name in one of the two fleet.yaml files", e.Paths[0], e.Paths[1], e.Name)
}

// PathError says that a path of a source makes no bundle.
type PathError struct {
	Path string
	// Outside says that it leads out of the source; else it is hidden.
	Outside bool
}

// Error says why.
func (e *PathError) Error() string {
	if e.Outside {
		return fmt.Sprintf("path %q is outside of the source", e.Path)
	}
	return fmt.Sprintf("path %q is hidden, and hidden folders are not read as bundles; rename it", e.Path)
}

// OutsideError says that an option leads out of the bundle.
type OutsideError struct {
	// File is the fleet.yaml, Option the key there, such as "kustomize.dir".
	File, Option, Name string
}

// Error names the option.
func (e *OutsideError) Error() string {
	return inFile(e.File, fmt.Sprintf("%s %q is outside of the bundle's folder", e.Option, e.Name))
}

// ChartError says that helm.chart does not lead to a chart of the bundle.
type ChartError struct {
	// File is the fleet.yaml, Chart what helm.chart says there.
	File, Chart string
	// Outside says that it leads out of the bundle, Fetched that it was fetched and
	// is no chart.
	Outside, Fetched bool
}

// Error says what helm.chart must be.
func (e *ChartError) Error() string {
	if e.Outside {
		return inFile(e.File, fmt.Sprintf("helm.chart %q is outside of the bundle's folder; move the chart into it", e.Chart))
	}
	if e.Fetched {
		return inFile(e.File, fmt.Sprintf("the files fetched for helm.chart %q contain no Chart.yaml", Shown(e.Chart)))
	}
	return inFile(e.File, fmt.Sprintf("helm.chart %q is neither a folder of the bundle with a Chart.yaml, nor a packed chart, nor the address of a chart", e.Chart))
}

// ValuesFileError says that a values file cannot be used.
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

// OptionsFileError says that the file with the options of a bundle cannot be read.
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

// LinkError says that a symbolic link cannot be followed.
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

// FleetFileError says that the folder of a bundle described elsewhere has a
// description of its own.
type FleetFileError struct {
	File string
}

// Error says what to do about it.
func (e *FleetFileError) Error() string {
	return fmt.Sprintf("the folder contains a %s, which would be ignored; remove it, or read this directory with fleet_gitrepo", e.File)
}

func inFile(file, message string) string {
	if file == "" {
		return message
	}
	return file + ": " + message
}

// inFileError says where something stands that err is about.
func inFileError(file string, err error) error {
	if file == "" {
		return err
	}
	return fmt.Errorf("%s: %w", file, err)
}
