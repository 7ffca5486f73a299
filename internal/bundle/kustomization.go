package bundle

import (
	"fmt"
	"path"
)

// KustomizationFiles are the names of the file that makes a folder a kustomization; Fleet
// supports only the first.
func KustomizationFiles() []string {
	return []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}
}

// NoKustomizationError reports that kustomize.dir leads to no kustomization.
type NoKustomizationError struct {
	Bundle, Dir string
}

func (e *NoKustomizationError) Error() string {
	return fmt.Sprintf("bundle %s: kustomize.dir names %q, which contains no %s", e.Bundle, e.Dir, KustomizationFiles()[0])
}

// Kustomization returns the folder with the kustomization that is built for the bundle: dir, or
// the root of the bundle if dir is empty (Fleet's internal/bundlereader/style.go). found is false
// for a bundle without a kustomization. A dir without one is a *NoKustomizationError; Fleet
// treats such a bundle as plain manifests.
func (b Bundle) Kustomization(dir string) (folder string, found bool, err error) {
	folder = path.Clean(dir)
	for _, name := range KustomizationFiles() {
		if tree(b.Files).has(path.Join(folder, name)) {
			return folder, true, nil
		}
	}
	if dir != "" {
		return "", false, &NoKustomizationError{Bundle: b.Name, Dir: dir}
	}
	return "", false, nil
}
