package kustomize

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// confine makes sure that the kustomization in root, and all that it leads to,
// name nothing but files and folders that are there. What is not there kustomize
// would download, or clone with the git command of the machine.
func confine(memory filesys.FileSystem, root string) error {
	seen := map[string]bool{}
	folders := []string{root}
	for len(folders) > 0 {
		dir := folders[0]
		folders = folders[1:]
		if seen[dir] {
			continue
		}
		seen[dir] = true
		file, content, err := kustomization(memory, dir)
		if err != nil {
			return err
		}
		below, err := namedFolders(memory, dir, file, content)
		if err != nil {
			return err
		}
		folders = append(folders, below...)
	}
	return nil
}

// namedFolders are the folders that a kustomization names. Whatever it names must
// be there.
func namedFolders(memory filesys.FileSystem, dir, file string, content types.Kustomization) ([]string, error) {
	var folders []string
	for _, name := range named(content) {
		at := path.Join(dir, name)
		isFolder := memory.IsDir(at)
		if path.IsAbs(name) || !memory.Exists(at) || (isFolder && remote.MatchString(name)) {
			return nil, &OutsideError{File: strings.TrimPrefix(file, "/"), Name: name}
		}
		if isFolder {
			folders = append(folders, at)
		}
	}
	return folders, nil
}

// remote is what kustomize might take for the address of a repository, although
// a folder has that name.
var remote = regexp.MustCompile(`://|::|@|\?|\.git\b|^(\./)*(gh:|git|[^/]*\.(com|org|io)[:/])`)

// named is everything that a kustomization names by a path.
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

// sources are the files of a generator; "key=file" names a file too.
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
