package bundle

import (
	"path"
	"slices"
	"strings"
)

// tree are the files of a bundle, sorted by name.
type tree []File

// find returns the index of a file, or the index at which a file of this name would be.
func (t tree) find(name string) (int, bool) {
	return slices.BinarySearchFunc(t, name, func(file File, name string) int { return strings.Compare(file.Name, name) })
}

func (t tree) has(name string) bool {
	_, found := t.find(name)
	return found
}

// contains reports whether there is a file or folder of this name.
func (t tree) contains(name string) bool {
	prefix := name + "/"
	i, _ := t.find(prefix)
	return t.has(name) || (i < len(t) && strings.HasPrefix(t[i].Name, prefix))
}

func (t tree) hasKustomization() bool {
	return slices.ContainsFunc(t, func(file File) bool {
		return slices.Contains(KustomizationFiles(), path.Base(file.Name))
	})
}
