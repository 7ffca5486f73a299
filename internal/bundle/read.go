package bundle

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// ReadOptions say what to read and what to lay on every bundle. Their JSON is
// part of descriptors, which outlive this process.
type ReadOptions struct {
	// RepoName is that of the GitRepo; names of bundles begin with it.
	RepoName string `json:"repoName,omitempty"`
	// Paths are globs, relative to the root, which is what none means.
	Paths []string `json:"paths,omitempty"`
	// Strict makes keys of fleet.yaml that Fleet does not know an error.
	Strict  bool    `json:"strict,omitempty"`
	Overlay Overlay `json:"overlay,omitzero"`
}

// Result is what Read has found.
type Result struct {
	// Bundles are sorted by path.
	Bundles []Bundle
	// Warnings are what is worth knowing about the files they were made from.
	Warnings []fleetyaml.Problem
}

// Read makes the bundles of a source: one of every folder that has a fleet.yaml,
// and one of each folder that Paths name and that has manifests of its own.
//
// Errors: *NoMatchError, *EmptyError, *DuplicateNameError; and about single
// folders, all of them joined: *fleetyaml.Error, *ChartError, *ValuesFileError,
// *LinkError and what fsys answers.
func Read(fsys fs.FS, o ReadOptions) (Result, error) {
	patterns := o.Paths
	if len(patterns) == 0 {
		patterns = []string{"."}
	}
	folders, unmatched, err := scan(fsys, patterns)
	if err != nil {
		return Result{}, err
	}
	var (
		result Result
		failed []error
	)
	for _, pattern := range unmatched {
		result.Warnings = append(result.Warnings, fleetyaml.Problem{
			Kind: fleetyaml.Note, Message: fmt.Sprintf("path %q matches no folder", pattern),
		})
	}
	for _, dir := range folders {
		b, warnings, err := readFolder(fsys, dir, o)
		result.Warnings = append(result.Warnings, warnings...)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		if len(b.Files) == 0 {
			result.Warnings = append(result.Warnings, fleetyaml.Problem{
				File: dir, Kind: fleetyaml.Note, Message: "no bundle is made of this folder, because it has no files (hidden ones do not count)",
			})
			continue
		}
		result.Bundles = append(result.Bundles, b)
	}
	if err := errors.Join(failed...); err != nil {
		return Result{}, err
	}
	if len(result.Bundles) == 0 {
		return Result{}, &EmptyError{Paths: patterns}
	}
	return result, unique(result.Bundles)
}

func unique(bundles []Bundle) error {
	paths := make(map[string]string, len(bundles))
	for _, b := range bundles {
		if first, twice := paths[b.Name]; twice {
			return &DuplicateNameError{Name: b.Name, Paths: [2]string{first, b.Path}}
		}
		paths[b.Name] = b.Path
	}
	return nil
}

// New makes one bundle of all files of fsys and of options that are given
// elsewhere than in a fleet.yaml. name is its name, whatever def says.
//
// Errors: *FleetFileError, *EmptyError, and those of a folder in Read.
func New(name string, fsys fs.FS, def fleetyaml.Definition) (Bundle, error) {
	def.Name = name
	data, err := json.Marshal(def)
	if err != nil {
		return Bundle{}, fmt.Errorf("writing the options of bundle %s: %w", name, err)
	}
	// What a fleet.yaml may say, def may say; and a copy is taken.
	def, _, err = fleetyaml.Parse("", data, true)
	if err != nil {
		return Bundle{}, fmt.Errorf("options of bundle %s: %w", name, withoutLines(err))
	}
	f := &folder{fsys: fsys}
	for _, file := range fleetFiles() {
		if _, err := fs.Stat(fsys, file); !errors.Is(err, fs.ErrNotExist) {
			return Bundle{}, &FleetFileError{File: file}
		}
	}
	b, err := f.bundle("", ".", name, def)
	if err == nil && len(b.Files) == 0 {
		err = &EmptyError{}
	}
	if err != nil {
		return Bundle{}, fmt.Errorf("bundle %s: %w", name, err)
	}
	return b, nil
}

// withoutLines drops positions in a text that nobody wrote.
func withoutLines(err error) error {
	invalid, ok := errors.AsType[*fleetyaml.Error](err)
	if !ok {
		return err
	}
	problems := make([]fleetyaml.Problem, len(invalid.Problems))
	for i, p := range invalid.Problems {
		problems[i] = fleetyaml.Problem{Kind: p.Kind, Message: p.Message}
	}
	return &fleetyaml.Error{Problems: problems}
}

// readFolder makes the bundle of one folder.
func readFolder(fsys fs.FS, dir string, o ReadOptions) (Bundle, []fleetyaml.Problem, error) {
	if isHidden(path.Base(dir)) {
		return Bundle{}, nil, nil
	}
	sub, err := fs.Sub(fsys, dir)
	if err != nil {
		return Bundle{}, nil, fmt.Errorf("opening %s: %w", dir, err)
	}
	f := &folder{fsys: sub}
	file, data, err := f.fleetFile()
	if err != nil {
		return Bundle{}, nil, fmt.Errorf("folder %s: %w", dir, err)
	}
	at := path.Join(dir, file)
	def, warnings, err := fleetyaml.Parse(at, data, o.Strict)
	if err != nil {
		return Bundle{}, warnings, err
	}
	name := def.Name
	if name == "" {
		name = Name(path.Join(o.RepoName, dir))
	}
	if strings.Contains(name, "/") {
		return Bundle{}, warnings, invalid(at, "name %q holds a \"/\"; choose another one", name)
	}
	b, err := f.bundle(at, dir, name, o.Overlay.on(def))
	if err != nil {
		return Bundle{}, warnings, fmt.Errorf("folder %s: %w", dir, err)
	}
	return b, warnings, nil
}

// fleetFile reads the file that describes the bundle. Without one, its name is
// that of the first choice and its content is empty.
func (f *folder) fleetFile() (name string, data []byte, err error) {
	for _, name := range fleetFiles() {
		info, err := fs.Lstat(f.fsys, name)
		if errors.Is(err, fs.ErrNotExist) || (err == nil && info.IsDir()) {
			continue
		}
		data, err := f.read(name)
		if err != nil {
			return name, nil, fmt.Errorf("reading %s: %w", name, err)
		}
		return name, data, nil
	}
	return fleetFiles()[0], nil, nil
}

// bundle reads the files and settles what the definition says of them. file is
// the path of the fleet.yaml, "" if there is none, dir that of the folder.
func (f *folder) bundle(file, dir, name string, def fleetyaml.Definition) (Bundle, error) {
	// Only fleet.yaml is left out, though fleet.yml is read in its absence: so does Fleet.
	f.leftOut = map[string]bool{fleetFiles()[0]: true}
	if err := f.mergeValues(file, &def); err != nil {
		return Bundle{}, err
	}
	files, err := f.list()
	if err != nil {
		return Bundle{}, err
	}
	b := Bundle{Name: name, Path: dir, Definition: def, Files: files}
	if err := b.supported(file); err != nil {
		return Bundle{}, err
	}
	b.Content = content(b)
	b.Digest, err = digest(b)
	return b, err
}

func invalid(file, format string, args ...any) error {
	return problem(file, fleetyaml.Invalid, format, args...)
}

func problem(file string, kind fleetyaml.Kind, format string, args ...any) error {
	return &fleetyaml.Error{Problems: []fleetyaml.Problem{{File: file, Kind: kind, Message: fmt.Sprintf(format, args...)}}}
}
