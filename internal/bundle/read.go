package bundle

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/sops"
)

// ReadOptions configure which bundles are read, and the settings that apply to each of them.
// Their JSON is part of descriptors, which outlive this process.
type ReadOptions struct {
	// RepoName is the name of the GitRepo; names of bundles begin with it.
	RepoName string `json:"repoName,omitempty"`
	// Paths are globs, relative to the root; without Paths, the root is read.
	Paths []string `json:"paths,omitempty"`
	// BundlePaths, if there are any, replace Paths, which must be empty. Each makes one bundle,
	// and folders are not searched (Fleet's driven mode, internal/cmd/cli/apply/apply.go).
	BundlePaths []Base `json:"bundlePaths,omitempty"`
	// Strict returns an error for keys of fleet.yaml that Fleet does not support.
	Strict  bool    `json:"strict,omitempty"`
	Overlay Overlay `json:"overlay,omitzero"`
	// Hold makes the bundles that can be made, and puts the errors of the others into
	// Result.Broken.
	Hold bool `json:"hold,omitempty"`
	// ImageScans is true if images are scanned; otherwise imageScans are an error.
	ImageScans bool `json:"imageScans,omitempty"`
	// Images are the tags that imageScans have found, for the lines that are marked with their
	// names.
	Images []MarkedImage `json:"images,omitempty"`
}

// Base is a folder that makes one bundle, and the file with its options relative
// to that folder; "" is its fleet.yaml.
type Base struct {
	Base    string `json:"base"`
	Options string `json:"options,omitempty"`
}

// Result is the result of Read.
type Result struct {
	// Bundles are sorted by path, or in the order of BundlePaths.
	Bundles []Bundle
	// Warnings are notes about the files from which the bundles were made.
	Warnings []fleetyaml.Problem
	// Broken has, with ReadOptions.Hold, one error for each folder that makes no bundle.
	Broken []error
}

// Reader reads bundles and decrypts what sops has encrypted in them.
type Reader struct {
	// Keys may be nil: then an encrypted file is an error.
	Keys *sops.Decrypter
	// IgnoreRules apply the .helmignore of a chart. nil ignores the file, as in Fleet.
	IgnoreRules IgnoreRules
}

// reading starts to read a source.
func (r Reader) reading(fsys fs.FS) *reading {
	begun := newReading(fsys)
	begun.ignoreRules = r.IgnoreRules
	if r.Keys != nil {
		begun.keys = r.Keys
	}
	return begun
}

// Read makes the bundles of a source. It makes one of every folder with a fleet.yaml, and one of
// each folder that Paths name and that has manifests of its own. With BundlePaths, it makes one
// bundle of each of these. Charts that are Wanted or Unmet must be added to a bundle before it is
// whole.
//
// Errors: *NoMatchError, *PathError, *EmptyError, *DuplicateNameError; and about single folders,
// all of them joined unless Hold is set: *fleetyaml.Error, *ChartError, *LocationError,
// *ValuesFileError, *OptionsFileError, *OutsideError, *LinkError, *SizeError, *CountError,
// *EncryptedFileError and the errors of fsys.
func (r Reader) Read(fsys fs.FS, o ReadOptions) (Result, error) {
	bases, result, err := o.bases(fsys)
	if err != nil {
		return Result{}, err
	}
	if drift := o.Overlay.CorrectDrift; drift != nil && drift.Enabled == nil && (drift.Force || drift.KeepFailHistory) {
		result.Warnings = append(result.Warnings, fleetyaml.Problem{
			Kind: fleetyaml.Note, Message: "correct_drift has no effect without enabled = true, as in Fleet",
		})
	}
	var failed []error
	shared := r.reading(fsys)
	shared.imageScans, shared.images = o.ImageScans, o.Images
	for _, base := range bases {
		b, warnings, err := shared.readFolder(base, o)
		result.Warnings = append(result.Warnings, warnings...)
		if err != nil {
			failed = append(failed, err)
			if shared.full() != nil {
				break
			}
			continue
		}
		if len(b.Files) == 0 && len(b.Wanted()) == 0 {
			result.Warnings = append(result.Warnings, fleetyaml.Problem{
				File: base.Base, Kind: fleetyaml.Note, Message: "this folder is not read as a bundle, because it contains no files " +
					"(hidden files are ignored)",
			})
			continue
		}
		result.Bundles = append(result.Bundles, b)
	}
	result.Warnings = append(result.Warnings, shared.imageNotes...)
	if o.Hold && shared.full() == nil {
		result.Broken, failed = failed, nil
	}
	if err := errors.Join(failed...); err != nil {
		return Result{}, err
	}
	if len(result.Bundles) == 0 && len(result.Broken) == 0 {
		return Result{}, &EmptyError{Paths: o.paths()}
	}
	return result, unique(result.Bundles)
}

func (o ReadOptions) paths() []string {
	if len(o.Paths) == 0 {
		return []string{"."}
	}
	return o.Paths
}

// bases returns the folders that make a bundle, and warnings about paths that match no folder.
func (o ReadOptions) bases(fsys fs.FS) ([]Base, Result, error) {
	if len(o.BundlePaths) > 0 && len(o.Paths) > 0 {
		return nil, Result{}, errors.New("paths and bundle paths cannot be combined: only paths are searched for bundles")
	}
	if len(o.BundlePaths) > 0 {
		return o.given(fsys)
	}
	folders, unmatched, err := scan(fsys, o.paths())
	if err != nil {
		return nil, Result{}, err
	}
	bases := make([]Base, len(folders))
	for i, folder := range folders {
		bases[i].Base = folder
	}
	var result Result
	for _, pattern := range unmatched {
		result.Warnings = append(result.Warnings, fleetyaml.Problem{
			Kind: fleetyaml.Note, Message: fmt.Sprintf("path %q matches no folder", pattern),
		})
	}
	return bases, result, nil
}

// given returns BundlePaths, which must exist.
func (o ReadOptions) given(fsys fs.FS) ([]Base, Result, error) {
	var missing []string
	bases := make([]Base, len(o.BundlePaths))
	for i, entry := range o.BundlePaths {
		dir := path.Clean(strings.TrimLeft(entry.Base, "/"))
		if isOutside(dir) {
			return nil, Result{}, &PathError{Path: entry.Base, Outside: true}
		}
		if isHidden(path.Base(dir)) {
			return nil, Result{}, &PathError{Path: entry.Base}
		}
		isFolder, err := isFolder(fsys, dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, Result{}, fmt.Errorf("path %q: %w", entry.Base, err)
		}
		if !isFolder {
			missing = append(missing, entry.Base)
		}
		bases[i] = Base{Base: dir, Options: entry.Options}
	}
	if len(missing) > 0 {
		return nil, Result{}, &NoMatchError{Paths: missing}
	}
	return bases, Result{}, nil
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

// New makes one bundle of all files of fsys and of options that are not in a fleet.yaml. name is
// the name of the bundle, even if def has another one. The returned problems are warnings, as
// those of Read.
//
// Errors: *EmptyError, and those of a folder in Read.
func (r Reader) New(name string, fsys fs.FS, def fleetyaml.Definition) (Bundle, []fleetyaml.Problem, error) {
	def.Name = name
	data, err := json.Marshal(def)
	if err != nil {
		return Bundle{}, nil, fmt.Errorf("writing the options of bundle %s: %w", name, err)
	}
	// def may contain what a fleet.yaml may contain. Parsing also copies def.
	def, warnings, err := fleetyaml.ParseHCL(data)
	if err != nil {
		return Bundle{}, nil, fmt.Errorf("options of bundle %s: %w", name, err)
	}
	f, err := r.reading(fsys).folder(".")
	if err != nil {
		return Bundle{}, nil, err
	}
	for _, file := range fleetFiles() {
		if _, err := fs.Stat(fsys, file); !errors.Is(err, fs.ErrNotExist) {
			return Bundle{}, nil, fmt.Errorf("the folder contains a %s, which would be ignored; remove it, or read this directory "+
				"with fleet_gitrepo", file)
		}
	}
	b, err := f.bundle("", ".", name, def)
	if err == nil && len(b.Files) == 0 && len(b.Wanted()) == 0 {
		err = &EmptyError{}
	}
	if err != nil {
		return Bundle{}, nil, fmt.Errorf("bundle %s: %w", name, err)
	}
	return b, append(warnings, notesOf(b)...), nil
}

// readFolder makes the bundle of one folder.
func (r *reading) readFolder(base Base, o ReadOptions) (Bundle, []fleetyaml.Problem, error) {
	dir := base.Base
	if isHidden(path.Base(dir)) {
		return Bundle{}, nil, nil
	}
	f, err := r.folder(dir)
	if err != nil {
		return Bundle{}, nil, err
	}
	file, data, err := f.optionsFile(base.Options)
	if err != nil {
		return Bundle{}, nil, fmt.Errorf("folder %s: %w", dir, err)
	}
	at := path.Join(dir, file)
	if sops.Encrypted(data) {
		return Bundle{}, nil, &EncryptedFileError{File: at, Err: errEncryptedOptions}
	}
	def, warnings, err := fleetyaml.Parser{Strict: o.Strict, ImageScans: o.ImageScans}.Parse(at, data)
	if err != nil {
		return Bundle{}, warnings, err
	}
	name := def.Name
	if name == "" {
		name = Name(path.Join(o.RepoName, dir, strings.TrimSuffix(base.Options, path.Ext(base.Options))))
	}
	if strings.Contains(name, "/") {
		return Bundle{}, warnings, &fleetyaml.Error{Problems: []fleetyaml.Problem{{
			File: at, Kind: fleetyaml.Invalid, Message: fmt.Sprintf("name %q contains a \"/\"; choose another name", name),
		}}}
	}
	warnings = append(warnings, o.Overlay.notes(at, def)...)
	f.leftOut, f.fromRepository = map[string]bool{path.Clean(file): true}, true
	b, err := f.bundle(at, dir, name, o.Overlay.on(def))
	if err != nil {
		return Bundle{}, warnings, fmt.Errorf("folder %s: %w", dir, err)
	}
	return b, slices.Concat(warnings, f.notes, notesOf(b)), nil
}

// optionsFile reads the file that describes the bundle: the named file, or its fleet.yaml.
// Without a fleet.yaml, name is "fleet.yaml" and data is empty.
func (f *folder) optionsFile(named string) (name string, data []byte, err error) {
	if named != "" {
		data, err := f.readNamed(named)
		if err != nil {
			return named, nil, &OptionsFileError{Name: named, Err: err}
		}
		return named, data, nil
	}
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

// bundle reads the files and applies the definition. file is the path of the fleet.yaml, "" if
// there is none; dir is the path of the folder.
func (f *folder) bundle(file, dir, name string, def fleetyaml.Definition) (Bundle, error) {
	// As in Fleet, fleet.yaml is left out and fleet.yml is not, whichever of them was read.
	own := map[string]bool{fleetFiles()[0]: true}
	for name := range f.leftOut {
		own[name] = own[name] || name != fleetFiles()[1]
	}
	f.leftOut = own
	if err := checkInside(file, def); err != nil {
		return Bundle{}, err
	}
	if err := checkPlainValues(file, def); err != nil {
		return Bundle{}, err
	}
	nameCharts(&def)
	if err := f.mergeValues(file, &def); err != nil {
		return Bundle{}, err
	}
	files, err := f.list()
	if err != nil {
		return Bundle{}, err
	}
	b := Bundle{Name: name, Path: dir, Definition: def, Files: files, DefinitionFile: file}
	if err := b.checkCharts(); err != nil {
		return Bundle{}, err
	}
	if err := f.addIgnoreFiles(&b); err != nil {
		return Bundle{}, err
	}
	if err := f.decryptFiles(&b); err != nil {
		return Bundle{}, err
	}
	if len(b.Wanted()) > 0 || len(b.Unmet()) > 0 {
		return b, nil
	}
	return b.whole()
}

// whole checks a bundle that has all its files, and sets its digests.
func (b Bundle) whole() (Bundle, error) {
	if err := b.checkSize(); err != nil {
		return Bundle{}, err
	}
	if err := b.checkChartFiles(); err != nil {
		return Bundle{}, err
	}
	if err := b.checkEncrypted(); err != nil {
		return Bundle{}, err
	}
	b.Content = content(b)
	var err error
	b.Digest, err = digest(b)
	return b, err
}

// checkInside refuses options that lead out of the folder. Names of files are checked when the
// files are read.
func checkInside(file string, def fleetyaml.Definition) error {
	for _, options := range def.AllOptions() {
		if options.Kustomize != nil && escapes(options.Kustomize.Dir) {
			return &OutsideError{File: file, Option: "kustomize.dir", Name: options.Kustomize.Dir}
		}
		if options.YAML == nil {
			continue
		}
		for _, name := range options.YAML.Overlays {
			if escapes(name) {
				return &OutsideError{File: file, Option: "yaml.overlays", Name: name}
			}
		}
	}
	return nil
}
