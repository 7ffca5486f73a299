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
	_, err := (&confinement{memory: memory, folders: map[string]reach{}, files: map[string]int64{}, listing: map[string]bool{}}).folder(root)
	return err
}

// confinement reads a kustomization and everything that it references.
type confinement struct {
	memory  filesys.FileSystem
	folders map[string]reach
	files   map[string]int64
	// listing are the folders of plugins that are being read.
	listing map[string]bool
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
		if all, err = all.plusResult(c.reference(file, dir, name)); err != nil {
			return reach{}, err
		}
	}
	if all, err = all.plusResult(c.plugins(file, dir, content)); err != nil {
		return reach{}, err
	}
	c.folders[dir] = all
	return all, nil
}

// reference returns how much kustomize reads for a file or folder that a kustomization references.
func (c *confinement) reference(file, dir, name string) (reach, error) {
	at := path.Join(dir, name)
	isFolder := c.memory.IsDir(at)
	if path.IsAbs(name) || !c.memory.Exists(at) || address.MatchString(name) ||
		repository.MatchString(name) || (isFolder && remote.MatchString(name)) {
		return reach{}, &OutsideError{File: strings.TrimPrefix(file, "/"), Name: name}
	}
	if isFolder {
		return c.folder(at)
	}
	size, err := c.file(at)
	return reach{bytes: size}, err
}

// own returns what a kustomization itself contains: objects can be written inline.
func (c *confinement) own(file string, content types.Kustomization) (reach, error) {
	if len(content.HelmCharts) > 0 || len(content.HelmChartInflationGenerator) > 0 || content.HelmGlobals != nil {
		return reach{}, fmt.Errorf("%s has Helm charts, which are not permitted in a kustomization; use helm.chart of the fleet.yaml",
			strings.TrimPrefix(file, "/"))
	}
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

var (
	// address matches names that kustomize downloads, although a file has that name
	// (internal/loader/fileloader.go), and all others that name a protocol.
	address = regexp.MustCompile(`(?i)^(https?:|[a-z][a-z0-9+.-]*:/)`)
	// repository matches names that kustomize clones if a file has that name and contains no objects
	// (internal/git/repospec.go).
	repository = regexp.MustCompile(`(?i)^(git::|[a-z][a-z0-9-]*@[^/:]*[/:]|github\.com[/:])`)
	// remote matches names that kustomize might treat as the address of a repository, although a
	// folder has that name.
	remote = regexp.MustCompile(`://|::|@|\?|\.git\b|^(\./)*(gh:|git|[^/]*\.(com|org|io)[:/])`)
)

// named returns all paths that a kustomization references, except those of plugins.
func named(content types.Kustomization) []string {
	names := slices.Concat(content.Resources, content.Components, content.Crds, content.Configurations)
	names = append(names, content.Bases...)               //nolint:staticcheck // old kustomizations have them
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
