// Package kustomize is the only package that uses kustomize. It turns files with a kustomization
// into objects, in memory.
package kustomize

import (
	"fmt"
	"path"
	"sync"

	jsonpatch "gopkg.in/evanphx/json-patch.v4" // the package that kustomize uses
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
)

// renderedFile contains the rendered objects of a chart, for a kustomization of the chart. The name
// is Fleet's (internal/helmdeployer/kustomize/kustomize.go).
const renderedFile = "fleet-manifests.yaml"

// Error reports that a kustomization cannot be built.
type Error struct {
	// Dir is the folder of the kustomization in the bundle.
	Dir string
	Err error
}

func (e *Error) Error() string { return fmt.Sprintf("kustomize in %s: %v", e.Dir, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// OutsideError reports that a kustomization references something outside of the bundle. kustomize
// would read it from the network or from the machine that it runs on.
type OutsideError struct {
	// File is the kustomization, Name is what it references.
	File, Name string
}

func (e *OutsideError) Error() string {
	return fmt.Sprintf("%s references %q, which is not in the bundle; nothing outside of a bundle is read, so copy it into the bundle",
		e.File, e.Name)
}

// Build returns all objects of the kustomization in the folder dir, as YAML documents in the order
// of kustomize. rendered are objects that are added as its first resources, none if it is empty.
// Build works in memory: it reads nothing outside of files, runs no plugin and downloads nothing.
//
// Errors: *Error. It wraps an *OutsideError if that is the cause.
func Build(files []bundle.File, dir string, rendered []byte) ([]byte, error) {
	dir = path.Clean(dir)
	built, err := build(files, dir, rendered)
	if err != nil {
		return nil, &Error{Dir: dir, Err: err}
	}
	return built, nil
}

// running is held while code of kustomize runs, also while it reads plugins: it keeps the schema of
// Kubernetes in variables, which it fills at the first use without a lock. A worker runs one
// kustomization at a time anyway.
var running sync.Mutex //nolint:gochecknoglobals // it protects variables of a library

func build(files []bundle.File, dir string, rendered []byte) ([]byte, error) {
	memory := filesys.MakeFsInMemory()
	for _, file := range files {
		if err := memory.WriteFile(path.Join("/", file.Name), file.Content); err != nil {
			return nil, fmt.Errorf("writing %s: %w", file.Name, err)
		}
	}
	root := path.Join("/", dir)
	running.Lock()
	defer running.Unlock()
	if len(rendered) > 0 {
		if err := addRendered(memory, root, rendered); err != nil {
			return nil, err
		}
	}
	if err := confine(memory, root); err != nil {
		return nil, err
	}
	limitCopies()
	objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(memory, root)
	if err != nil {
		return nil, err
	}
	return objects.AsYaml()
}

// limitCopies limits the JSON patches of kustomize: a few lines that copy an object into itself
// could create an object of any size.
//
//nolint:gochecknoglobals // so is the limit of the library
var limitCopies = sync.OnceFunc(func() { jsonpatch.AccumulatedCopySizeLimit = maxCopied })

// addRendered adds a file with rendered objects as the first resource of the kustomization.
func addRendered(memory filesys.FileSystem, root string, rendered []byte) error {
	if err := memory.WriteFile(path.Join(root, renderedFile), rendered); err != nil {
		return fmt.Errorf("writing %s: %w", renderedFile, err)
	}
	file, content, err := kustomization(memory, root)
	if err != nil {
		return err
	}
	content.Resources = append([]string{renderedFile}, content.Resources...)
	data, err := yaml.Marshal(content)
	if err != nil {
		return fmt.Errorf("writing %s: %w", file, err)
	}
	return memory.WriteFile(file, data)
}

// kustomization reads the kustomization of a folder as kustomize does.
func kustomization(memory filesys.FileSystem, root string) (string, types.Kustomization, error) {
	for _, name := range bundle.KustomizationFiles() {
		file := path.Join(root, name)
		if !memory.Exists(file) {
			continue
		}
		data, err := memory.ReadFile(file)
		if err != nil {
			return file, types.Kustomization{}, fmt.Errorf("reading %s: %w", file, err)
		}
		var content types.Kustomization
		if err := content.Unmarshal(data); err != nil {
			return file, types.Kustomization{}, fmt.Errorf("reading %s: %w", file, err)
		}
		content.FixKustomization()
		return file, content, nil
	}
	return "", types.Kustomization{}, fmt.Errorf("%s contains no %s", root, bundle.KustomizationFiles()[0])
}
