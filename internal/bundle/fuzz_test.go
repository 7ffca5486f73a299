package bundle_test

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
)

// FuzzRead checks any source: a bundle has only files of the source, in order, each once. It has
// digests exactly if no chart is missing.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"-- fleet.yaml --\nhelm: {chart: c, valuesFiles: [v.yaml]}\n-- v.yaml --\na: 1\n-- c/Chart.yaml --\nname: c\ndependencies: [{name: d}]\n-- c/charts/d-1.tgz --\n",
		"-- a/fleet.yaml --\nname: x\ntargets: [{helm: {repo: 'https://example.com', chart: b}}]\n-- a/.fleetignore --\n*.txt\nb/*\n-- a/b/c.txt --\n-- a/n/fleet.yml --\n-- a/n/x.yaml --\n",
		"-- x.yaml --\na: &a [1]\nb: *a\n-- .hidden/y.yaml --\n-- z --\n\xff\xfe\n",
		"-- Chart.yaml --\nname: a\n-- requirements.yaml --\ndependencies: [{name: b}]\n-- charts/b/Chart.yaml --\nname: b\n",
		"-- fleet.yaml --\nkustomize: {dir: ..}\nyaml: {overlays: [/]}\n-- o.yaml --\n",
	} {
		f.Add([]byte(seed), ".", "")
	}
	f.Fuzz(func(t *testing.T, text []byte, base, options string) {
		fsys, err := txtar.FS(txtar.Parse(text))
		if err != nil {
			return
		}
		o := bundle.ReadOptions{RepoName: "test", Paths: []string{base}}
		if options != "" {
			o = bundle.ReadOptions{RepoName: "test", BundlePaths: []bundle.Base{{Base: base, Options: options}}}
		}
		result, err := bundle.Reader{}.Read(fsys, o)
		if err != nil {
			return
		}
		for _, b := range result.Bundles {
			names := make([]string, len(b.Files))
			for i, file := range b.Files {
				names[i] = file.Name
				content, err := fs.ReadFile(fsys, path.Join(b.Path, file.Name))
				if err != nil || string(content) != string(file.Content) {
					t.Errorf("bundle %s has a file %s that its source has not: %v", b.Name, file.Name, err)
				}
			}
			if !slices.IsSorted(names) || len(slices.Compact(names)) != len(b.Files) {
				t.Errorf("files %q", names)
			}
			whole := len(b.Wanted()) == 0 && len(b.Unmet()) == 0
			if whole != (b.Digest != "") || whole != (b.Content != "") || b.Name == "" || strings.Contains(b.Name, "/") {
				t.Errorf("bundle %q has the digests %q and %q, and wants %v and %v", b.Name, b.Digest, b.Content, b.Wanted(), b.Unmet())
			}
			b.ChartDirectory(b.Definition.Helm)
		}
	})
}
