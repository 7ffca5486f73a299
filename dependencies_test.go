package main_test

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/modfile"
	modversion "golang.org/x/mod/module"
	"sigs.k8s.io/yaml"
)

// goModules returns the folders of all modules of the repository, such as "/internal/bench".
func goModules(t *testing.T) []string {
	t.Helper()
	var folders []string
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && name != "." && strings.HasPrefix(entry.Name(), ".") {
			return fs.SkipDir
		}
		if err == nil && entry.Name() == "go.mod" {
			folders = append(folders, path.Join("/", path.Dir(name)))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return folders
}

func TestDependabotUpdatesEveryModule(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(".github/dependabot.yml")
	if err != nil {
		t.Fatal(err)
	}
	var configured struct {
		Updates []struct {
			Ecosystem   string   `json:"package-ecosystem"`
			Directory   string   `json:"directory"`
			Directories []string `json:"directories"`
		} `json:"updates"`
	}
	if err := yaml.Unmarshal(content, &configured); err != nil {
		t.Fatal(err)
	}
	var updated []string
	for _, of := range configured.Updates {
		if of.Ecosystem != "gomod" {
			continue
		}
		updated = append(updated, of.Directories...)
		if of.Directory != "" {
			updated = append(updated, of.Directory)
		}
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(goModules(t))), slices.Sorted(slices.Values(updated))); diff != "" {
		t.Errorf("modules that Dependabot updates (-in the repository +in .github/dependabot.yml):\n%s", diff)
	}
}

// Kubernetes publishes the modules of one release together. Programs that tests build choose their own.
func TestModulesOfKubernetesHaveOneVersion(t *testing.T) {
	t.Parallel()
	found := map[string][]string{}
	for _, folder := range goModules(t) {
		if strings.HasPrefix(folder, "/internal/testenv/") {
			continue
		}
		name := filepath.Join(".", folder, "go.mod")
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := modfile.Parse(name, content, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, required := range file.Require {
			of := required.Mod
			if strings.HasPrefix(of.Path, "k8s.io/") && strings.HasPrefix(of.Version, "v0.") && !modversion.IsPseudoVersion(of.Version) {
				found[of.Version] = append(found[of.Version], name+" "+of.Path)
			}
		}
	}
	if len(found) != 1 {
		t.Errorf("modules of Kubernetes have the versions %v: %v", slices.Sorted(maps.Keys(found)), found)
	}
}
