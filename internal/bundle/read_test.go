package bundle_test

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// tree makes a file system of a txtar text.
func tree(t *testing.T, text string) fs.FS {
	t.Helper()

	fsys, err := txtar.FS(txtar.Parse([]byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	return fsys
}

func read(t *testing.T, text string, paths ...string) (bundle.Result, error) {
	t.Helper()

	return bundle.Reader{}.Read(tree(t, text), bundle.ReadOptions{RepoName: "test", Paths: paths, Strict: true})
}

// contents returns the names of bundles and of their files.
func contents(bundles []bundle.Bundle) map[string][]string {
	found := make(map[string][]string)
	for _, b := range bundles {
		found[b.Name] = nil
		for _, file := range b.Files {
			found[b.Name] = append(found[b.Name], file.Name)
		}
	}
	return found
}

func TestReadFolders(t *testing.T) {
	t.Parallel()

	const repo = `
-- readme.md --
-- apps/web/fleet.yaml --
-- apps/web/web.yaml --
-- apps/web/nested/fleet.yml --
-- apps/web/nested/n.yaml --
-- apps/db/fleet.yaml --
name: database
-- apps/db/db.json --
-- apps/rest.yaml --
-- raw/deep/a.json --
-- only/children/fleet.yaml --
-- only/children/c.yaml --
-- text/readme.md --
-- hidden/.b/fleet.yaml --
-- hidden/.b/b.yaml --
-- hidden/.b/inner/fleet.yaml --
-- hidden/.b/inner/i.yaml --
-- .git/x.yaml --
`
	tests := map[string]struct {
		paths []string
		want  map[string][]string
	}{
		"a folder with fleet.yaml and what is below it": {
			paths: []string{"apps/web"},
			want: map[string][]string{
				"test-apps-web":        {"nested/fleet.yml", "nested/n.yaml", "web.yaml"},
				"test-apps-web-nested": {"fleet.yml", "n.yaml"},
			},
		},
		"a glob, a slash in front, a file that matches too": {
			paths: []string{"/apps/*"},
			want: map[string][]string{
				"test-apps-web":        {"nested/fleet.yml", "nested/n.yaml", "web.yaml"},
				"test-apps-web-nested": {"fleet.yml", "n.yaml"},
				"database":             {"db.json"},
			},
		},
		"JSON alone":                          {paths: []string{"raw"}, want: map[string][]string{"test-raw": {"deep/a.json"}}},
		"manifests of nested bundles only":    {paths: []string{"only"}, want: map[string][]string{"test-only-children": {"c.yaml"}}},
		"a hidden folder is none, inside one": {paths: []string{"hidden/.b"}, want: map[string][]string{"test-hidden-b-inner-943a0588": {"i.yaml"}}},
		"one folder by two paths": {
			paths: []string{"apps/db", "apps/db/", "./apps/d*"},
			want:  map[string][]string{"database": {"db.json"}},
		},
		"a glob that matches nothing, besides another path": {
			paths: []string{"raw", "later-*"},
			want:  map[string][]string{"test-raw": {"deep/a.json"}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			got, err := read(t, repo, test.paths...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, contents(got.Bundles)); diff != "" {
				t.Errorf("bundles (-want +got):\n%s", diff)
			}
		})
	}

	t.Run("all of it, in order", func(t *testing.T) {
		t.Parallel()

		got, err := read(t, repo)
		if err != nil {
			t.Fatal(err)
		}
		var paths []string
		for _, b := range got.Bundles {
			paths = append(paths, b.Path)
		}
		want := []string{".", "apps/db", "apps/web", "apps/web/nested", "hidden/.b/inner", "only/children"}
		if diff := cmp.Diff(want, paths); diff != "" {
			t.Errorf("paths (-want +got):\n%s", diff)
		}
	})
}

func TestReadErrors(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		text  string
		paths []string
		is    func(error) bool
		want  string
	}{
		"a path that does not exist": {
			text: "-- a.yaml --\n", paths: []string{".", "nowhere"}, is: is[*bundle.NoMatchError],
			want: `no folder matches "nowhere"`,
		},
		"a glob that alone matches nothing": {
			text: "-- a.yaml --\n", paths: []string{"x-*"}, is: is[*bundle.NoMatchError],
			want: `no folder matches "x-*"`,
		},
		"a file": {
			text: "-- a.yaml --\n", paths: []string{"a.yaml"}, is: is[*bundle.NoMatchError],
			want: `no folder matches "a.yaml"`,
		},
		"a path out of the source": {
			text: "-- a.yaml --\n", paths: []string{"a/../../b"},
			want: `path "a/../../b" is outside of the source`,
		},
		"nothing but a fleet.yaml": {
			text: "-- fleet.yaml --\n", is: is[*bundle.EmptyError],
			want: "no bundle found below .: no folder contains manifests (.yaml, .yml, .json), or a fleet.yaml with other files",
		},
		"one name twice": {
			text: "-- a/fleet.yaml --\nname: x\n-- a/a.yaml --\n-- b/fleet.yaml --\nname: x\n-- b/b.yaml --\n", is: is[*bundle.DuplicateNameError],
			want: `folders a and b both define a bundle named "x"; set another name in one of the two fleet.yaml files`,
		},
		"every broken file": {
			text: "-- a/fleet.yaml --\ncolour: red\n-- b/fleet.yml --\nname: []\n", is: is[*fleetyaml.Error],
			want: "a/fleet.yaml:1:1: unknown key \"colour\"\nb/fleet.yml:1:7: name must be text, not a list",
		},
		"a name with a slash": {
			text: "-- fleet.yaml --\nname: a/b\n", is: is[*fleetyaml.Error],
			want: `fleet.yaml: name "a/b" contains a "/"; choose another name`,
		},
		"a chart outside": {
			text: "-- c/Chart.yaml --\n-- a/fleet.yaml --\nhelm: {chart: ../c}\n", paths: []string{"a"}, is: is[*bundle.ChartError],
			want: `folder a: a/fleet.yaml: helm.chart "../c" is outside of the bundle's folder; move the chart into it`,
		},
		"a chart that is not there": {
			text: "-- fleet.yaml --\ntargets: [{helm: {chart: c}}]\n-- c/a.yaml --\n", is: is[*bundle.ChartError],
			want: `folder .: fleet.yaml: helm.chart "c" is neither a folder of the bundle with a Chart.yaml, nor a packed chart, nor the address of a chart`,
		},
		"a chart that cannot be read": {
			text: "-- fleet.yaml --\n-- Chart.yaml --\nname: [broken\n", is: is[*fleetyaml.Error],
			want: "folder .: Chart.yaml:2:1: did not find expected ',' or ']'",
		},
		"a chart whose address is none": {
			text: "-- fleet.yaml --\nhelm: {repo: 'ftp://example.com', chart: c}\n", is: is[*bundle.LocationError],
			want: `folder .: fleet.yaml: chart "c" of helm.repo "ftp://example.com": the address of a Helm repository begins with https://, http:// or oci://`,
		},
		"a values file that is not there": {
			text: "-- fleet.yaml --\nhelm: {chart: ., valuesFiles: [v.yaml]}\n", is: is[*bundle.ValuesFileError],
			want: `folder .: fleet.yaml: reading values file "v.yaml": open v.yaml: file does not exist`,
		},
		"a values file that is not there beside a chart": {
			text: "-- Chart.yaml --\n-- fleet.yaml --\nhelm: {valuesFiles: [v.yaml]}\n", is: is[*bundle.ValuesFileError],
			want: `folder .: fleet.yaml: reading values file "v.yaml": open v.yaml: file does not exist`,
		},
		"a values file outside": {
			text: "-- v.yaml --\n-- a/fleet.yaml --\nhelm: {valuesFiles: [../v.yaml]}\n", paths: []string{"a"}, is: is[*bundle.ValuesFileError],
			want: `folder a: a/fleet.yaml: reading values file "../v.yaml": it is outside of the bundle's folder`,
		},
		"a pattern that is none": {
			text: "-- a.yaml --\n-- sub/.fleetignore --\n# comment\n[\n", paths: nil,
			want: `folder .: sub/.fleetignore:2: pattern "[": syntax error in pattern`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			_, err := read(t, test.text, test.paths...)
			if err == nil {
				t.Fatal("Read() succeeds")
			}
			if diff := cmp.Diff(test.want, err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if test.is != nil && !test.is(err) {
				t.Errorf("error %T is not of the type it should be", err)
			}
		})
	}
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func TestReadWarnings(t *testing.T) {
	t.Parallel()

	fsys := tree(t, "-- a.yaml --\n-- empty/fleet.yaml --\ncolour: red\n")
	got, err := bundle.Reader{}.Read(fsys, bundle.ReadOptions{RepoName: "test", Paths: []string{".", "x*"}})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, warning := range got.Warnings {
		lines = append(lines, warning.String())
	}
	want := []string{
		`path "x*" matches no folder`,
		`empty/fleet.yaml:1:1: unknown key "colour" is ignored`,
		"empty: this folder is not read as a bundle, because it contains no files (hidden files are ignored)",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestReadWarnsOfMissingOverlays(t *testing.T) {
	t.Parallel()

	got, err := read(t, "-- fleet.yaml --\nyaml: {overlays: [there, gone]}\ntargets: [{yaml: {overlays: [gone, lost]}}]\n-- a.yaml --\n-- overlays/there/a.yaml --\n")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, warning := range got.Warnings {
		lines = append(lines, warning.String())
	}
	want := []string{
		`fleet.yaml: yaml.overlays names "gone" and has no effect: the folder overlays/gone does not exist`,
		`fleet.yaml: yaml.overlays names "lost" and has no effect: the folder overlays/lost does not exist`,
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestReadValuesFiles(t *testing.T) {
	t.Parallel()

	got, err := read(t, `
-- fleet.yaml --
helm:
  values: {from: inline, map: {inline: true}}
  valuesFiles: [env/values.yaml, ./more.yaml]
targets:
- clusterName: c
  helm: {valuesFiles: [more.yaml, empty.yaml]}
-- env/values.yaml --
from: first
map: {first: yes}
-- more.yaml --
from: second
-- empty.yaml --
-- values.yaml --
chart: default
-- Chart.yaml --
name: c
version: 1.0.0
`)
	if err != nil {
		t.Fatal(err)
	}
	b := got.Bundles[0]
	want := map[string]any{"from": "second", "map": map[string]any{"inline": true, "first": true}}
	if diff := cmp.Diff(want, b.Definition.Helm.Values); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"from": "second"}, b.Definition.Targets[0].Helm.Values); diff != "" {
		t.Errorf("values of the target (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Chart.yaml", "values.yaml"}, contents(got.Bundles)["test"]); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestReadIgnores(t *testing.T) {
	t.Parallel()

	got, err := read(t, strings.ReplaceAll(`
-- .fleetignore --
# comment
*.tmp  
dropped
star/*
escaped\_
-- a.yaml --
-- a.tmp --
-- sub/a.tmp --
-- sub/dropped/a.yaml --
-- sub/star/a.yaml --
-- star --
-- foo/.fleetignore --
b.yaml
-- foo/b.yaml --
-- foo/deep/b.yaml --
-- foobar/b.yaml --
-- .hidden/a.yaml --
-- .hidden.yaml --
`, "_", " "))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a.yaml", "foobar/b.yaml", "star"}, contents(got.Bundles)["test"]); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestReadOverlay(t *testing.T) {
	t.Parallel()

	fsys := tree(t, "-- fleet.yaml --\nlabels: {a: bundle}\nnamespace: own\nforceSyncGeneration: 7\ntargets: [{namespace: other}]\n-- a.yaml --\n")
	got, err := bundle.Reader{}.Read(fsys, bundle.ReadOptions{Overlay: bundle.Overlay{
		TargetNamespace: "forced", Labels: map[string]string{"a": "repo", "b": "repo"}, Paused: true, ForceSyncGeneration: 2,
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := fleetyaml.Definition{
		Labels:  map[string]string{"a": "bundle", "b": "repo"},
		Paused:  true,
		Options: fleetyaml.Options{Namespace: "forced", ForceSyncGeneration: 2},
		Targets: []fleetyaml.Customization{{Options: fleetyaml.Options{Namespace: "forced"}}},
	}
	if diff := cmp.Diff(want, got.Bundles[0].Definition, equateEmpty()); diff != "" {
		t.Errorf("definition (-want +got):\n%s", diff)
	}
}

// A repository cannot choose the service account if the GitRepo sets one.
func TestReadOverlayOfTheServiceAccount(t *testing.T) {
	t.Parallel()

	const text = "-- fleet.yaml --\nserviceAccount: top\ntargets: [{serviceAccount: \"-\"}, {serviceAccount: admin}]\n-- a.yaml --\n"
	got, err := bundle.Reader{}.Read(tree(t, text), bundle.ReadOptions{Overlay: bundle.Overlay{ServiceAccount: "deployer"}})
	if err != nil {
		t.Fatal(err)
	}
	definition := got.Bundles[0].Definition
	accounts := []string{definition.ServiceAccount}
	for _, custom := range slices.Concat(definition.Targets, definition.TargetCustomizations) {
		accounts = append(accounts, custom.ServiceAccount)
	}
	if diff := cmp.Diff([]string{"deployer", "deployer", "deployer"}, accounts); diff != "" {
		t.Errorf("accounts (-want +got):\n%s", diff)
	}
}

// correctDrift of a GitRepo applies to all bundles with enabled: true. With enabled: false, it
// applies to bundles that do not set enabled.
func TestReadOverlayOfDriftCorrection(t *testing.T) {
	t.Parallel()

	on, off := &fleetyaml.CorrectDrift{Enabled: new(true)}, &fleetyaml.CorrectDrift{Enabled: new(false)}
	tests := map[string]struct {
		file            string
		laid, corrected *fleetyaml.CorrectDrift
	}{
		"on":                      {laid: on, corrected: on},
		"on over off":             {file: "correctDrift: {enabled: false}", laid: on, corrected: on},
		"off":                     {laid: off, corrected: off},
		"off leaves what is on":   {file: "correctDrift: {enabled: true}", laid: off, corrected: on},
		"nothing is no choice":    {file: "correctDrift: {enabled: false}", laid: &fleetyaml.CorrectDrift{Force: true}, corrected: off},
		"nothing said by anybody": {},
		"off for what says no more": {
			file: "correctDrift: {force: true}", laid: off, corrected: &fleetyaml.CorrectDrift{Enabled: new(false), Force: true},
		},
		"on for what says no more": {file: "correctDrift: {force: true}", laid: on, corrected: on},
		"force alone is no choice": {laid: &fleetyaml.CorrectDrift{Force: true}},
		"off is not laid over off": {file: "correctDrift: {enabled: false}", laid: off, corrected: off},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fsys := tree(t, "-- fleet.yaml --\nlabels: {a: b}\n"+test.file+"\n-- a.yaml --\n")
			got, err := bundle.Reader{}.Read(fsys, bundle.ReadOptions{Overlay: bundle.Overlay{CorrectDrift: test.laid}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.corrected, got.Bundles[0].Definition.CorrectDrift); diff != "" {
				t.Errorf("correctDrift (-want +got):\n%s", diff)
			}
		})
	}
}

func equateEmpty() cmp.Option {
	return cmp.FilterValues(func(a, b []fleetyaml.Customization) bool { return len(a) == 0 && len(b) == 0 }, cmp.Ignore())
}

func TestReadLinks(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		links map[string]string
		want  []string // Files; real/a.yaml is always one of them.
		err   string
	}{
		"to a file":               {links: map[string]string{"link.yaml": "real/a.yaml"}, want: []string{"link.yaml", "real/a.yaml"}},
		"to a folder":             {links: map[string]string{"link": "real"}, want: []string{"link/a.yaml", "real/a.yaml"}},
		"through another link":    {links: map[string]string{"one": "two", "two": "./real"}, want: []string{"one/a.yaml", "real/a.yaml", "two/a.yaml"}},
		"up and down again":       {links: map[string]string{"real/up.yaml": "../real/a.yaml"}, want: []string{"real/a.yaml", "real/up.yaml"}},
		"ignored":                 {links: map[string]string{"ignored": "../outside"}, want: []string{"real/a.yaml"}},
		"out of the bundle":       {links: map[string]string{"link": "../outside"}, err: "following the symbolic link link: it points outside of the bundle's folder"},
		"out by way of a link":    {links: map[string]string{"deep/er/x": "../../real", "link": "deep/er/x/../../outside/o.yaml"}, err: "following the symbolic link link: it points outside of the bundle's folder"},
		"absolute":                {links: map[string]string{"link": "/etc/hostname"}, err: "following the symbolic link link: it is absolute, so it points outside of the bundle's folder"},
		"to nothing":              {links: map[string]string{"link": "nowhere"}, err: "following the symbolic link link: "},
		"to itself":               {links: map[string]string{"link": "link"}, err: "following the symbolic link link: too many links"},
		"to a folder around it":   {links: map[string]string{"real/link": ".."}, err: "following the symbolic link real/link: it points to a folder that contains it"},
		"two folders in a circle": {links: map[string]string{"a/b": "../c", "c/d": "../a"}, err: "following the symbolic link a/b/d: it points to a folder that contains it"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			root := t.TempDir()
			files := map[string]string{"outside/o.yaml": "", "b/real/a.yaml": "", "b/.fleetignore": "ignored\n"}
			for name, content := range files {
				writeFile(t, filepath.Join(root, name), content)
			}
			for link, to := range test.links {
				link = filepath.Join(root, "b", link)
				if err := os.MkdirAll(filepath.Dir(link), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(to, link); err != nil {
					t.Fatal(err)
				}
			}
			// The result is the same whether or not the file system confines links.
			confined, err := os.OpenRoot(root)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = confined.Close() })
			for _, fsys := range []fs.FS{os.DirFS(root), confined.FS()} {
				got, err := bundle.Reader{}.Read(fsys, bundle.ReadOptions{RepoName: "test", Paths: []string{"b"}})
				if test.err != "" {
					if err == nil || !strings.HasPrefix(err.Error(), "folder b: "+test.err) || !is[*bundle.LinkError](err) {
						t.Errorf("Read() error = %v, want %s", err, test.err)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.want, contents(got.Bundles)["test-b"]); diff != "" {
					t.Errorf("files (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func writeFile(t *testing.T, name, content string) {
	t.Helper()

	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestNew(t *testing.T) {
	t.Parallel()

	fsys := tree(t, "-- cm.yaml --\na: 1\n-- v.yaml --\nsize: 2\n-- sub/fleet.yaml --\n")
	def := fleetyaml.Definition{Options: fleetyaml.Options{Helm: &fleetyaml.Helm{
		Values: map[string]any{"count": 3}, ValuesFiles: []string{"v.yaml"},
	}}}
	got, _, err := bundle.Reader{}.New("web", fsys, def)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string][]string{"web": {"cm.yaml", "sub/fleet.yaml"}}, contents([]bundle.Bundle{got})); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"count": 3.0, "size": 2.0}, got.Definition.Helm.Values); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if len(def.Helm.Values) != 1 {
		t.Errorf("the definition given was changed: %v", def.Helm.Values)
	}
}

func TestNewErrors(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		text string
		def  fleetyaml.Definition
		want string
	}{
		"a fleet.yaml":   {text: "-- fleet.yml --\n-- a.yaml --\n", want: "the folder contains a fleet.yml, which would be ignored; remove it, or read this directory with fleet_gitrepo"},
		"no files":       {text: "-- .hidden --\n", want: "bundle b: the folder contains no files"},
		"bad options":    {def: fleetyaml.Definition{TargetCustomizationMode: "x"}, want: `options of bundle b: target_customization_mode "x" is neither FirstMatch nor AllMatches`},
		"no such values": {text: "-- a.yaml --\n", def: fleetyaml.Definition{Options: fleetyaml.Options{Helm: &fleetyaml.Helm{ValuesFiles: []string{"v"}}}}, want: `bundle b: reading values file "v": open v: file does not exist`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			_, _, err := bundle.Reader{}.New("b", tree(t, test.text), test.def)
			if err == nil || err.Error() != test.want {
				t.Errorf("New() error = %v, want %s", err, test.want)
			}
		})
	}
}

// The digest is kept in states, so it never changes for the same content.
func TestDigest(t *testing.T) {
	t.Parallel()

	files := map[string]string{
		"fleet.yaml": "labels: {b: '2', a: '1'}\nhelm: {values: {z: 1, w: {b: [1, x], a: ~}}}\ntargets: [{clusterSelector: {}}]\n",
		"b.yaml":     "kind: B\n", "a/a.bin": "\xff\x00",
	}
	const want = "v1-11b472bdc5d10e43bd590ef3cbe411d2"
	digest := func(files map[string]string, folder string) string {
		fsys := fstest.MapFS{}
		for name, content := range files {
			fsys[path.Join(folder, name)] = &fstest.MapFile{Data: []byte(content)}
		}
		got, err := bundle.Reader{}.Read(fsys, bundle.ReadOptions{Paths: []string{folder}})
		if err != nil {
			t.Fatal(err)
		}
		return got.Bundles[0].Digest
	}
	if got := digest(files, "x"); got != want {
		t.Errorf("Digest = %s, want %s", got, want)
	}

	same := maps.Clone(files)
	same["fleet.yaml"] = "# other order, other words\nname: x\ntargets:\n- clusterSelector: {}\nhelm: {values: {w: {a: null, b: [0x1, x]}, z: 1.0}}\nlabels: {a: '1', b: \"2\"}\n"
	named := maps.Clone(files)
	named["fleet.yaml"] += "name: x\n"
	if digest(named, "x") != digest(same, "elsewhere") {
		t.Error("order, spelling or folder changes the digest")
	}
	changes := map[string]map[string]string{
		"a value":        {"fleet.yaml": "labels: {b: '2', a: '1'}\nhelm: {values: {z: 2}}\n"},
		"a byte":         {"b.yaml": "kind: b\n"},
		"a file more":    {"c": ""},
		"a moved border": {"b.yaml": "kind: ", "b.yamlB": "\n"},
	}
	seen := map[string]string{want: "nothing"}
	for _, change := range slices.Sorted(maps.Keys(changes)) {
		changed := maps.Clone(files)
		maps.Copy(changed, changes[change])
		got := digest(changed, "x")
		if other, twice := seen[got]; twice {
			t.Errorf("%s gives the digest of %s", change, other)
		}
		seen[got] = change
	}
}
