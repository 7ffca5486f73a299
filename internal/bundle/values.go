package bundle

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/sops"
)

// mergeValues merges the values files that def names into the values of def, in order: each file
// overrides the values before it (Fleet's internal/bundlereader/resources.go). The files then do
// not belong to the bundle. Unlike in Fleet, values files of the root apply even if the root
// names no chart. Also unlike in Fleet, only the named files are left out, not other files of the
// same base name. A missing file of the root is an error only if there is a chart.
func (f *folder) mergeValues(file string, def *fleetyaml.Definition) error {
	if err := f.mergeInto(file, def.Helm, f.fromRepository && mayLackValues(f.fsys, def.Helm)); err != nil {
		return err
	}
	for _, customization := range def.Customizations() {
		if err := f.mergeInto(file, customization.Helm, false); err != nil {
			return err
		}
	}
	return nil
}

// mayLackValues reports whether values files of the root may be missing: Fleet does not read them
// in a bundle without a chart.
func mayLackValues(fsys fs.FS, helm *fleetyaml.Helm) bool {
	if helm == nil || helm.Chart != "" || helm.Repo != "" {
		return false
	}
	_, err := fs.Stat(fsys, chartFile)
	return errors.Is(err, fs.ErrNotExist)
}

// missingValues notes that a values file of the root does not exist.
func missingValues(file, name string) fleetyaml.Problem {
	return fleetyaml.Problem{
		File: file, Kind: fleetyaml.Note,
		Message: fmt.Sprintf("%s names %q, which does not exist; as in Fleet, this is not an error, because the bundle has no chart",
			spellingIn(file).Name("helm.valuesFiles"), name),
	}
}

// mergeInto merges the values files of helm. mayLack is true if the files may be missing.
func (f *folder) mergeInto(file string, helm *fleetyaml.Helm, mayLack bool) error {
	if helm == nil {
		return nil
	}
	for _, name := range helm.ValuesFiles {
		read, err := f.readValues(name)
		if mayLack && errors.Is(err, fs.ErrNotExist) {
			f.notes = append(f.notes, missingValues(file, name))
			continue
		}
		if err != nil {
			return &ValuesFileError{File: file, Name: name, Err: err}
		}
		helm.Values = fleetyaml.MergeValues(helm.Values, read.values)
		f.leaveOut(name)
	}
	return nil
}

// leaveOut keeps a values file out of the bundle. Fleet compares the name as it was written with
// the names of files, and the base name with the files at the root
// (internal/bundlereader/resources.go). A file in a folder that is written another way, such as
// "./live/values.yaml", stays in the bundle.
func (f *folder) leaveOut(name string) {
	if cleaned := path.Clean(name); cleaned == name || path.Dir(cleaned) == "." {
		f.leftOut[cleaned] = true
	}
}

// sopsMetadata is the key of the metadata that sops adds to a file.
const sopsMetadata = "sops"

// values are the values of one file; size is how many bytes they expand to.
type values struct {
	values map[string]any
	size   int64
}

// readValues reads a file once, however often it is named.
func (f *folder) readValues(name string) (values, error) {
	read, known := f.values[name]
	if !known {
		data, err := f.readNamed(name)
		if err != nil {
			return values{}, err
		}
		isEncrypted := sops.Encrypted(data)
		if isEncrypted {
			if err := f.decryptValues(name, data); err != nil {
				return values{}, err
			}
		}
		content, size, err := fleetyaml.Values(data)
		if err != nil {
			return values{}, inYAML(path.Join(f.root, name), err)
		}
		var known map[string]any
		if isEncrypted {
			delete(content, sopsMetadata)
			known = f.plain.Leaves
		}
		if place := marked(content, "values", known); place != "" {
			return values{}, encryptedValue(path.Join(f.root, name), place)
		}
		read = values{content, int64(size)}
		f.values[name] = read
	}
	if f.valuesSize += read.size; f.valuesSize > maxValues {
		return values{}, &SizeError{What: "values files together, each counted as often as it is listed", Limit: maxValues}
	}
	return read, nil
}

// readNamed reads a file that the definition names.
func (f *folder) readNamed(name string) ([]byte, error) {
	if escapes(name) {
		return nil, errors.New("it is outside of the bundle's folder")
	}
	return f.read(name)
}
