package bundle

import (
	"errors"
	"path"

	"sigs.k8s.io/yaml"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// mergeValues reads the values files that def names into the values they belong
// to: each file over what is there, in order (Fleet's
// internal/bundlereader/resources.go). The files then do not belong to the
// bundle. Other than in Fleet, files of the root count whether or not it names a
// chart, and only the files that are named are left out, not others of the same
// base name.
func (f *folder) mergeValues(file string, def *fleetyaml.Definition) error {
	if err := f.mergeInto(file, def.Helm); err != nil {
		return err
	}
	for _, customizations := range [][]fleetyaml.Customization{def.Targets, def.TargetCustomizations} {
		for i := range customizations {
			if err := f.mergeInto(file, customizations[i].Helm); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *folder) mergeInto(file string, helm *fleetyaml.Helm) error {
	if helm == nil {
		return nil
	}
	for _, name := range helm.ValuesFiles {
		values, err := f.readValues(name)
		if err != nil {
			return &ValuesFileError{File: file, Name: name, Err: err}
		}
		helm.Values = fleetyaml.MergeValues(helm.Values, values)
		f.leftOut[path.Clean(name)] = true
	}
	return nil
}

func (f *folder) readValues(name string) (map[string]any, error) {
	data, err := f.readNamed(name)
	if err != nil {
		return nil, err
	}
	var values map[string]any
	return values, yaml.Unmarshal(data, &values)
}

// readNamed reads a file that the definition names.
func (f *folder) readNamed(name string) ([]byte, error) {
	if path.IsAbs(name) || isOutside(path.Clean(name)) {
		return nil, errors.New("it is outside of the bundle's folder")
	}
	return f.read(name)
}
