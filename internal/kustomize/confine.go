package kustomize

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// confine checks the kustomization in root and everything that it references. They may reference
// only existing files and folders, and not too many of them. If a name did not exist, kustomize
// would download it, or clone it with the git command of the machine.
func confine(memory filesys.FileSystem, root string) error {
	_, err := (&confinement{memory: memory, folders: map[string]reach{}, files: map[string]int64{}}).folder(root)
	return err
}

// confinement reads a kustomization and everything that it references.
type confinement struct {
	memory  filesys.FileSystem
	folders map[string]reach
	files   map[string]int64
}

// folder returns how much kustomize reads for a kustomization. A reference to itself counts as
// nothing; kustomize reports that error.
func (c *confinement) folder(dir string) (reach, error) {
	if known, ok := c.folders[dir]; ok {
		return known, nil
	}
	c.folders[dir] = reach{}
	file, content, err := kustomization(c.memory, dir)
	if err != nil {
		return reach{}, err
	}
	all, err := c.own(file, content)
	if err != nil {
		return reach{}, err
	}
	for _, name := range named(content) {
		at := path.Join(dir, name)
		isFolder := c.memory.IsDir(at)
		if path.IsAbs(name) || !c.memory.Exists(at) || (isFolder && remote.MatchString(name)) {
			return reach{}, &OutsideError{File: strings.TrimPrefix(file, "/"), Name: name}
		}
		var more reach
		if isFolder {
			more, err = c.folder(at)
		} else {
			more.bytes, err = c.file(at)
		}
		if err == nil {
			all, err = all.plus(more)
		}
		if err != nil {
			return reach{}, err
		}
	}
	c.folders[dir] = all
	return all, nil
}

// own returns what a kustomization itself contains: objects can be written inline.
func (c *confinement) own(file string, content types.Kustomization) (reach, error) {
	size, err := c.file(file)
	if err != nil {
		return reach{}, err
	}
	all, err := reach{folders: 1}.plus(reach{bytes: size})
	for _, text := range inline(content) {
		if err == nil {
			all, err = all.plus(reach{bytes: weight([]byte(text))})
		}
	}
	return all, err
}

// file returns the weight of a file.
func (c *confinement) file(at string) (int64, error) {
	if known, ok := c.files[at]; ok {
		return known, nil
	}
	content, err := c.memory.ReadFile(at)
	if err != nil {
		return 0, fmt.Errorf("reading %s: %w", at, err)
	}
	c.files[at] = weight(content)
	return c.files[at], nil
}

// remote matches names that kustomize might treat as the address of a repository, although a folder
// has that name.
var remote = regexp.MustCompile(`://|::|@|\?|\.git\b|^(\./)*(gh:|git|[^/]*\.(com|org|io)[:/])`)

// named returns all paths that a kustomization references.
func named(content types.Kustomization) []string {
	names := slices.Concat(content.Resources, content.Components, content.Crds, content.Configurations)
	names = append(names, content.Bases...) //nolint:staticcheck // old kustomizations have them
	// These may be objects written inline.
	for _, name := range slices.Concat(content.Generators, content.Transformers, content.Validators) {
		if !strings.Contains(name, "\n") {
			names = append(names, name)
		}
	}
	for _, patch := range content.PatchesStrategicMerge { //nolint:staticcheck // old kustomizations have them
		if !strings.Contains(string(patch), "\n") {
			names = append(names, string(patch))
		}
	}
	for _, patch := range slices.Concat(content.Patches, content.PatchesJson6902) { //nolint:staticcheck // old kustomizations have them
		names = append(names, patch.Path)
	}
	for _, replacement := range content.Replacements {
		names = append(names, replacement.Path)
	}
	names = append(names, content.OpenAPI["path"])
	for _, generator := range content.ConfigMapGenerator {
		names = append(names, sources(generator.KvPairSources)...)
	}
	for _, generator := range content.SecretGenerator {
		names = append(names, sources(generator.KvPairSources)...)
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// inline returns the objects and patches that are written inline in a kustomization.
func inline(content types.Kustomization) []string {
	texts := slices.Concat(content.Generators, content.Transformers, content.Validators)
	for _, patch := range content.PatchesStrategicMerge { //nolint:staticcheck // old kustomizations have them
		texts = append(texts, string(patch))
	}
	for _, patch := range slices.Concat(content.Patches, content.PatchesJson6902) { //nolint:staticcheck // old kustomizations have them
		texts = append(texts, patch.Patch)
	}
	return texts
}

// sources returns the files of a generator; "key=file" names a file too.
func sources(pairs types.KvPairSources) []string {
	names := slices.Concat(pairs.EnvSources, []string{pairs.EnvSource})
	for _, source := range pairs.FileSources {
		_, file, found := strings.Cut(source, "=")
		if !found {
			file = source
		}
		names = append(names, file)
	}
	return names
}
