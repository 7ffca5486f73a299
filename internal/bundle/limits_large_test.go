//go:build !race

package bundle_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// source is a folder on disk, since files can be large there without taking space.
type source struct {
	t    *testing.T
	root string
}

func newSource(t *testing.T, text string) source {
	t.Helper()

	s := source{t: t, root: filepath.Join(t.TempDir(), "source")}
	if err := os.CopyFS(s.root, tree(t, text)); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s source) large(name string, size int64) {
	s.t.Helper()

	writeFile(s.t, filepath.Join(s.root, name), "")
	if err := os.Truncate(filepath.Join(s.root, name), size); err != nil {
		s.t.Fatal(err)
	}
}

func (s source) link(name, to string) {
	s.t.Helper()

	name = filepath.Join(s.root, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Symlink(to, name); err != nil {
		s.t.Fatal(err)
	}
}

func (s source) read(o bundle.ReadOptions) (bundle.Result, error) {
	return bundle.Reader{}.Read(os.DirFS(s.root), o)
}

// bounded fails if f takes more than a minute, or allocates more than megabytes in all. On an
// idle machine, f takes seconds. Without limits, f takes hours.
func bounded(t *testing.T, megabytes uint64, f func()) {
	t.Helper()

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	f()
	taken := time.Since(start)
	runtime.ReadMemStats(&after)
	allocated := (after.TotalAlloc - before.TotalAlloc) >> 20
	if taken > time.Minute {
		t.Errorf("it takes %s", taken)
	}
	if allocated > megabytes {
		t.Errorf("it allocates %d MiB", allocated)
	}
	t.Logf("%s, %d MiB allocated in all", taken, allocated)
}

// It is not parallel, because it measures what the process allocates.
func TestReadLimits(t *testing.T) {
	const hundred = 100_000_000
	tests := map[string]struct {
		text      string
		change    func(s source)
		megabytes uint64
		is        func(error) bool
		want      string // In the error.
	}{
		"a file of 100 MB": {
			text: "-- a.yaml --\n", change: func(s source) { s.large("sub/big.bin", hundred) },
			megabytes: 4, is: is[*bundle.SizeError],
			want: "folder .: sub/big.bin: larger than the limit of 32 MiB; exclude files that are not deployed with a .fleetignore",
		},
		"many files": {
			text: "-- a.yaml --\n", change: func(s source) {
				for i := range 9 {
					s.large(fmt.Sprintf("big%d", i), bundle.MaxFile-1)
				}
			},
			megabytes: 300, is: is[*bundle.SizeError],
			want: "folder .: the files of the bundle together: larger than the limit of 256 MiB; exclude files that are not deployed with a .fleetignore",
		},
		"a fleet.yaml": {
			text: "-- a.yaml --\n", change: func(s source) { s.large("fleet.yaml", hundred) },
			megabytes: 4, is: is[*bundle.SizeError],
			want: "fleet.yaml: larger than the limit of 32 MiB",
		},
		"a fleet.yaml that could still be read": {
			text: "-- a.yaml --\n", change: func(s source) { s.large("fleet.yaml", fleetyaml.MaxSize+1) },
			megabytes: 16, is: isTooLarge,
			want: "fleet.yaml: larger than the limit of 4 MiB for YAML",
		},
		"a values file": {
			text: "-- fleet.yaml --\nhelm: {valuesFiles: [v.yaml]}\n-- a.yaml --\n", change: func(s source) { s.large("v.yaml", fleetyaml.MaxSize+1) },
			megabytes: 16, is: isTooLarge,
			want: `folder .: fleet.yaml: reading values file "v.yaml": v.yaml: larger than the limit of 4 MiB`,
		},
		"a .fleetignore": {
			text: "-- a.yaml --\n", change: func(s source) { s.large("sub/.fleetignore", hundred) },
			megabytes: 4, is: is[*bundle.SizeError],
			want: "reading sub/.fleetignore: sub/.fleetignore: larger than the limit of 32 MiB",
		},
		"a long .fleetignore": {
			text:      "-- a.yaml --\n-- .fleetignore --\n" + strings.Repeat("a*b*c*d*e*f\n", 600) + "-- sub/.fleetignore --\n" + strings.Repeat("x\n", 600),
			megabytes: 16, is: is[*bundle.CountError],
			want: "folder .: sub/.fleetignore: more than 1000 lines of .fleetignore files in one folder",
		},
		"one values file, often": {
			text:      "-- fleet.yaml --\ntargets:\n" + strings.Repeat("- helm: {valuesFiles: [v.yaml, ./v.yaml]}\n", 10_000) + "-- v.yaml --\nlist: [" + strings.Repeat("a, ", 10_000) + "]\n-- a.yaml --\n",
			megabytes: 512, is: is[*bundle.SizeError],
			want: `reading values file "./v.yaml": values files together, each counted as often as it is listed: larger than the limit of 64 MiB`,
		},
		"folders of links to folders of links": {
			text: "-- fleet.yaml --\n", change: func(s source) {
				for i := range 40 {
					s.link(fmt.Sprintf("d%d/a", i), fmt.Sprintf("../d%d", i+1))
					s.link(fmt.Sprintf("d%d/b", i), fmt.Sprintf("../d%d", i+1))
				}
				s.large("d40/a.yaml", 0)
			},
			megabytes: 1024, is: is[*bundle.CountError],
			want: "folder .: more than 100000 files and folders in one bundle",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSource(t, test.text)
			if test.change != nil {
				test.change(s)
			}
			bounded(t, test.megabytes, func() {
				_, err := s.read(bundle.ReadOptions{RepoName: "test", Strict: true})
				if err == nil || !test.is(err) || !strings.Contains(err.Error(), test.want) {
					t.Errorf("Read() error = %T %v, want %s", err, err, test.want)
				}
			})
		})
	}
}

func isTooLarge(err error) bool {
	found, ok := errors.AsType[*fleetyaml.Error](err)
	return ok && found.Only(fleetyaml.TooLarge)
}

// Nested bundles have the same files, and share their contents.
//
// It is not parallel, because it measures what the process allocates.
func TestReadNested(t *testing.T) {
	const depth = 100
	s := newSource(t, "")
	folder := ""
	for range depth {
		folder = path.Join(folder, "n")
		s.large(path.Join(folder, "fleet.yaml"), 0)
	}
	s.large(path.Join(folder, "a.yaml"), 10<<20)
	bounded(t, 256, func() {
		result, err := s.read(bundle.ReadOptions{RepoName: "test"})
		if err != nil || len(result.Bundles) != depth {
			t.Errorf("%d bundles, %v", len(result.Bundles), err)
		}
	})
}

// bomb returns a text of a few lines that expands to more than can be read.
func bomb() string {
	var text strings.Builder
	text.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 12; i++ {
		fmt.Fprintf(&text, "a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), i-1)
	}
	return text.String()
}

// It is not parallel, because it measures what the process allocates.
func TestReadBombs(t *testing.T) {
	const deep = 5000
	nested := "a: " + strings.Repeat("[", deep) + strings.Repeat("]", deep) + "\n"
	tests := map[string]struct{ text, want string }{
		"fleet.yaml":             {"-- fleet.yaml --\nhelm:\n  values:\n    " + strings.ReplaceAll(bomb(), "\n", "\n    ") + "\n-- a.yaml --\n", "fleet.yaml:9:"},
		"a deep fleet.yaml":      {"-- fleet.yaml --\nhelm:\n  values:\n    " + nested + "-- a.yaml --\n", "fleet.yaml:3:"},
		"an options file":        {"-- a.yaml --\n-- options.yaml --\n" + bomb(), "options.yaml:7:"},
		"a values file":          {"-- fleet.yaml --\nhelm: {valuesFiles: [v.yaml]}\n-- v.yaml --\n" + bomb() + "-- a.yaml --\n", `reading values file "v.yaml": v.yaml:7:`},
		"a deep values file":     {"-- fleet.yaml --\nhelm: {valuesFiles: [v.yaml]}\n-- v.yaml --\n" + nested + "-- a.yaml --\n", `reading values file "v.yaml": v.yaml:1:`},
		"a target's values file": {"-- fleet.yaml --\ntargets: [{helm: {valuesFiles: [v.yaml]}}]\n-- v.yaml --\n" + bomb() + "-- a.yaml --\n", `reading values file "v.yaml": v.yaml:7:`},
		"Chart.yaml":             {"-- Chart.yaml --\nname: a\n" + bomb(), "Chart.yaml:8:"},
		"a deep Chart.yaml":      {"-- Chart.yaml --\nname: a\n" + nested, "Chart.yaml:2:"},
		"a chart's dependencies": {"-- Chart.yaml --\nname: a\n-- requirements.yaml --\n" + bomb(), "requirements.yaml:7:"},
		"a chart's values":       {"-- Chart.yaml --\nname: a\n-- values.yaml --\n" + bomb(), "values.yaml:7:"},
		"an overlay":             {"-- fleet.yaml --\nyaml: {overlays: [a]}\n-- a.yaml --\n-- overlays/a/a_patch.yaml --\n" + bomb(), "overlays/a/a_patch.yaml:7:"},
		"a kustomization":        {"-- kustomization.yaml --\n" + bomb(), "kustomization.yaml:7:"},
		"a manifest, as JSON":    {"-- a.json --\n{\"a\": &a \"" + strings.Repeat("x", 100_000) + "\", \"b\": [" + strings.Repeat("*a,", 10_000) + "]}\n", "a.json:1:"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := bundle.ReadOptions{RepoName: "test"}
			if strings.Contains(test.text, "-- options.yaml --") {
				o.BundlePaths = []bundle.Base{{Base: ".", Options: "options.yaml"}}
			}
			fsys := tree(t, test.text)
			bounded(t, 64, func() {
				_, err := (bundle.Reader{}).Read(fsys, o)
				if !is[*fleetyaml.Error](err) || !strings.Contains(err.Error(), test.want) {
					t.Errorf("Read() error = %v, want %s", err, test.want)
				}
			})
		})
	}
	t.Run("a chart that is fetched", func(t *testing.T) {
		b := readOne(t, "-- fleet.yaml --\nhelm: {repo: 'https://charts.example.com', chart: web}\n")
		dir := b.Wanted()[0].Directory()
		bounded(t, 64, func() {
			_, err := b.Add([]bundle.File{{Name: dir + "/Chart.yaml", Content: []byte("name: web\n")}, {Name: dir + "/values.yaml", Content: []byte(bomb())}})
			if !isTooLarge(err) {
				t.Errorf("Add() error = %v", err)
			}
		})
	})
}

// Options and links that lead out of the folder are refused, although their targets exist.
func TestReadOutside(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		text        string
		link, to    string
		paths       []string
		bundlePaths []bundle.Base
		is          func(error) bool
	}{
		"an absolute values file":      {text: "-- b/fleet.yaml --\nhelm: {valuesFiles: [/etc/hostname]}\n", is: is[*bundle.ValuesFileError]},
		"a values file above":          {text: "-- b/fleet.yaml --\nhelm: {valuesFiles: [x/../../secret.yaml]}\n", is: is[*bundle.ValuesFileError]},
		"a target's values file above": {text: "-- b/fleet.yaml --\ntargets: [{helm: {valuesFiles: [../secret.yaml]}}]\n", is: is[*bundle.ValuesFileError]},
		"a values file that is a link": {text: "-- b/fleet.yaml --\nhelm: {valuesFiles: [v.yaml]}\n", link: "b/v.yaml", to: "../secret.yaml", is: is[*bundle.LinkError]},
		"a values file in a linked folder": {
			text: "-- b/fleet.yaml --\nhelm: {valuesFiles: [v/secret.yaml]}\n", link: "b/v", to: "..", is: is[*bundle.LinkError],
		},
		"an absolute chart":               {text: "-- b/fleet.yaml --\nhelm: {chart: /etc}\n", is: is[*bundle.ChartError]},
		"a chart above":                   {text: "-- b/fleet.yaml --\nhelm: {chart: ../chart}\n", is: is[*bundle.ChartError]},
		"an absolute kustomization":       {text: "-- b/fleet.yaml --\nkustomize: {dir: /etc}\n", is: is[*bundle.OutsideError]},
		"a kustomization above":           {text: "-- b/fleet.yaml --\nkustomize: {dir: a/../..}\n", is: is[*bundle.OutsideError]},
		"a target's kustomization above":  {text: "-- b/fleet.yaml --\ntargets: [{kustomize: {dir: ../c}}]\n", is: is[*bundle.OutsideError]},
		"an overlay above":                {text: "-- b/fleet.yaml --\nyaml: {overlays: [a, ../..]}\n", is: is[*bundle.OutsideError]},
		"a target's absolute overlay":     {text: "-- b/fleet.yaml --\ntargetCustomizations: [{yaml: {overlays: [/etc]}}]\n", is: is[*bundle.OutsideError]},
		"a fleet.yaml that is a link":     {link: "b/fleet.yaml", to: "../secret.yaml", is: is[*bundle.LinkError]},
		"a .fleetignore that is a link":   {text: "-- b/fleet.yaml --\n", link: "b/.fleetignore", to: "../secret.yaml", is: is[*bundle.LinkError]},
		"a file that is a link":           {text: "-- b/fleet.yaml --\n", link: "b/x.yaml", to: "../secret.yaml", is: is[*bundle.LinkError]},
		"a path that is a link":           {paths: []string{"l"}, link: "l", to: "../outside", is: is[*bundle.LinkError]},
		"a path below a link":             {paths: []string{"l/*"}, link: "l", to: "../outside", is: is[*bundle.LinkError]},
		"a path above":                    {paths: []string{"b/../../outside"}, is: is[*bundle.PathError]},
		"a base above":                    {bundlePaths: []bundle.Base{{Base: "../outside"}}, is: is[*bundle.PathError]},
		"a base that is a link":           {bundlePaths: []bundle.Base{{Base: "l"}}, link: "l", to: "../outside", is: is[*bundle.LinkError]},
		"an absolute base is none":        {bundlePaths: []bundle.Base{{Base: "/etc"}}, is: is[*bundle.NoMatchError]},
		"a hidden base":                   {text: "-- .h/fleet.yaml --\n-- .h/a.yaml --\n", bundlePaths: []bundle.Base{{Base: ".h"}}, is: is[*bundle.PathError]},
		"absolute options":                {bundlePaths: []bundle.Base{{Base: "b", Options: "/etc/hostname"}}, is: is[*bundle.OptionsFileError]},
		"options above":                   {bundlePaths: []bundle.Base{{Base: "b", Options: "../secret.yaml"}}, is: is[*bundle.OptionsFileError]},
		"options that are a link":         {bundlePaths: []bundle.Base{{Base: "b", Options: "o.yaml"}}, link: "b/o.yaml", to: "../secret.yaml", is: is[*bundle.OptionsFileError]},
		"options that are a folder":       {text: "-- b/o.yaml/x --\n", bundlePaths: []bundle.Base{{Base: "b", Options: "o.yaml"}}, is: is[*bundle.OptionsFileError]},
		"paths and bundle paths together": {paths: []string{"b"}, bundlePaths: []bundle.Base{{Base: "b"}}, is: func(err error) bool { return err != nil }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s := newSource(t, "-- secret.yaml --\nname: secret\n-- chart/Chart.yaml --\nname: c\n-- b/a.yaml --\n"+test.text)
			writeFile(t, filepath.Join(s.root, "../outside/o/o.yaml"), "")
			if test.link != "" {
				s.link(test.link, test.to)
			}
			if test.paths == nil && test.bundlePaths == nil {
				test.paths = []string{"b"}
			}
			_, err := s.read(bundle.ReadOptions{RepoName: "test", Paths: test.paths, BundlePaths: test.bundlePaths})
			if err == nil || !test.is(err) {
				t.Errorf("Read() error = %T %v", err, err)
			}
		})
	}
}

// A named pipe is refused, because reading it would block.
func TestReadIrregular(t *testing.T) {
	t.Parallel()

	for name, text := range map[string]string{
		"fleet.yaml": "", "v.yaml": "-- fleet.yaml --\nhelm: {valuesFiles: [v.yaml]}\n", "x": "",
	} {
		fsys := fstest.MapFS{name: {Mode: fs.ModeNamedPipe}, "a.yaml": {}}
		if text != "" {
			fsys["fleet.yaml"] = &fstest.MapFile{Data: []byte(strings.SplitN(text, "\n", 2)[1])}
		}
		if _, err := (bundle.Reader{}).Read(fsys, bundle.ReadOptions{}); err == nil || !strings.Contains(err.Error(), name+" is ") {
			t.Errorf("%s: Read() error = %v", name, err)
		}
	}
}

// Many charts in a fleet.yaml and many files are read within the limits.
//
// It is not parallel, because it measures what the process allocates.
func TestReadManyCharts(t *testing.T) {
	const many = 5_000
	fsys := fstest.MapFS{"Chart.yaml": {Data: []byte("name: a\n")}}
	var text strings.Builder
	text.WriteString("targets:\n")
	for i := range many {
		fmt.Fprintf(&text, "- helm: {repo: 'https://charts.example.com', chart: c%d}\n", i)
	}
	fsys["fleet.yaml"] = &fstest.MapFile{Data: []byte(text.String())}
	for i := range many {
		fsys[fmt.Sprintf("files/%d", i)] = &fstest.MapFile{}
	}
	bounded(t, 256, func() {
		result, err := bundle.Reader{}.Read(fsys, bundle.ReadOptions{RepoName: "test"})
		if err != nil {
			t.Fatal(err)
		}
		b := result.Bundles[0]
		if len(b.Wanted()) != many || len(b.Unmet()) != 0 {
			t.Errorf("%d wanted, %d unmet", len(b.Wanted()), len(b.Unmet()))
		}
	})
}
