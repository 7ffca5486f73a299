package testenv

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
)

// hello is a module with one program, which prints a text that the link flags set.
func hello(t *testing.T) buildModule {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{
		"go.mod":       "module example.com/hello\n\ngo 1.26\n",
		"go.sum":       "",
		"main.go":      "package main\n\nimport \"fmt\"\n\nvar greeting string\n\nfunc main() { fmt.Println(greeting) }\n",
		"stage/a.yaml": "a: 1",
		"stage/b.yaml": "b: 2\n",
	}
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return buildModule{
		dir:     dir,
		ldflags: "-X main.greeting=hello",
		tools:   []buildTool{{name: "hello", pkg: "example.com/hello", estimate: "no time"}},
		files:   []buildFile{{name: "joined.yaml", module: "example.com/hello", paths: []string{"stage/a.yaml", "stage/b.yaml"}}},
	}
}

// A recorder records progress lines, also of concurrent calls.
type recorder struct {
	mu    sync.Mutex
	lines []string
}

func (r *recorder) log(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

// builds returns the lines that announce the start of a compiler.
func (r *recorder) builds() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []string
	for _, line := range r.lines {
		if strings.HasPrefix(line, "building ") {
			found = append(found, line)
		}
	}
	return found
}

func TestBuildOnce(t *testing.T) {
	t.Parallel()
	module, store := hello(t), filepath.Join(t.TempDir(), "store")
	var progress recorder
	// Several test binaries build at the same time.
	var group errgroup.Group
	dirs := make([]string, 4)
	for i := range dirs {
		group.Go(func() (err error) {
			dirs[i], err = build(t.Context(), progress.log, module, store)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{dirs[0], dirs[0], dirs[0], dirs[0]}, dirs); diff != "" {
		t.Errorf("callers got different folders (-want +got):\n%s", diff)
	}
	want := []string{"building hello (1/1), no time on 2 cores when cold"}
	if diff := cmp.Diff(want, progress.builds()); diff != "" {
		t.Errorf("builds (-want +got):\n%s", diff)
	}
	output, err := exec.CommandContext(t.Context(), filepath.Join(dirs[0], "hello")).Output()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("hello\n", string(output)); diff != "" {
		t.Errorf("output of the program (-want +got):\n%s", diff)
	}
	joined, err := os.ReadFile(filepath.Join(dirs[0], "joined.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("a: 1\n---\nb: 2\n", string(joined)); diff != "" {
		t.Errorf("joined file (-want +got):\n%s", diff)
	}
}

func TestBuildAgain(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		// change happens between two builds.
		change    func(t *testing.T, module *buildModule, built string)
		rebuilds  bool
		sameplace bool
	}{
		{
			name:      "nothing changed",
			change:    func(*testing.T, *buildModule, string) {},
			sameplace: true,
		},
		{
			name:     "other flags",
			change:   func(_ *testing.T, module *buildModule, _ string) { module.ldflags = "-X main.greeting=bye" },
			rebuilds: true,
		},
		{
			name: "other dependencies",
			change: func(t *testing.T, module *buildModule, _ string) {
				t.Helper()
				if err := os.WriteFile(filepath.Join(module.dir, "go.mod"), []byte("module example.com/hello\n\ngo 1.25\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			},
			rebuilds: true,
		},
		{
			name: "a program was deleted",
			change: func(t *testing.T, _ *buildModule, built string) {
				t.Helper()
				if err := os.Remove(filepath.Join(built, "hello")); err != nil {
					t.Fatal(err)
				}
			},
			rebuilds:  true,
			sameplace: true,
		},
		{
			name: "an interrupted build",
			change: func(t *testing.T, _ *buildModule, built string) {
				t.Helper()
				if err := os.Rename(built, built+".unfinished"); err != nil {
					t.Fatal(err)
				}
			},
			rebuilds:  true,
			sameplace: true,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			module, store := hello(t), t.TempDir()
			first, err := build(t.Context(), orSilent(nil), module, store)
			if err != nil {
				t.Fatal(err)
			}
			test.change(t, &module, first)
			var progress recorder
			second, err := build(t.Context(), progress.log, module, store)
			if err != nil {
				t.Fatal(err)
			}
			if rebuilt := len(progress.builds()) > 0; rebuilt != test.rebuilds {
				t.Errorf("rebuilt: got %v, want %v", rebuilt, test.rebuilds)
			}
			if same := first == second; same != test.sameplace {
				t.Errorf("same folder: got %v, want %v", same, test.sameplace)
			}
			if !module.isBuilt(second) {
				t.Errorf("%s is not complete", second)
			}
		})
	}
}

func TestBuildFails(t *testing.T) {
	t.Parallel()
	module, store := hello(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(module.dir, "main.go"), []byte("package main\n\nfunc main() { nonsense() }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := build(t.Context(), orSilent(nil), module, store)
	if err == nil || !strings.Contains(err.Error(), "undefined: nonsense") {
		t.Errorf("got error %v, want the compiler's words", err)
	}
	entries, err := filepath.Glob(filepath.Join(store, "????????????????"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string(nil), entries); diff != "" {
		t.Errorf("a failed build left a folder that looks complete (-want +got):\n%s", diff)
	}
}

// Builds of former versions are removed after some time, and used builds are kept.
func TestRemoveUnused(t *testing.T) {
	t.Parallel()
	store, now := t.TempDir(), time.Now()
	for name, used := range map[string]time.Time{"old": now.Add(-2 * time.Hour), "used": now.Add(-2 * time.Hour), "new": now} {
		dir := filepath.Join(store, name)
		if err := os.Mkdir(dir, 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(dir, used, used); err != nil {
			t.Fatal(err)
		}
	}
	if err := markUsed(filepath.Join(store, "used")); err != nil {
		t.Fatal(err)
	}
	if err := removeUnused(store, now.Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(store)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, entry := range entries {
		left = append(left, entry.Name())
	}
	if diff := cmp.Diff([]string{"new", "used"}, left); diff != "" {
		t.Errorf("builds (-want +got):\n%s", diff)
	}
}

// A written module with another text is another build. A written module can link to other builds.
func TestBuildWritten(t *testing.T) {
	t.Parallel()
	store := t.TempDir()
	first, err := build(t.Context(), t.Logf, hello(t), store)
	if err != nil {
		t.Fatal(err)
	}
	module := func(text string) buildModule {
		return buildModule{
			written: map[string]string{
				"go.mod":        "module example.com/written\n\ngo 1.26\n",
				"cmd/main.go":   "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(text) }\n",
				"cmd/static.go": "package main\n\nconst text = \"" + text + "\"\n",
			},
			tools: []buildTool{{name: "written", pkg: "example.com/written/cmd", estimate: "no time"}},
			links: []buildLink{{name: "hello", from: first}},
		}
	}
	for _, text := range []string{"one", "two"} {
		dir, err := build(t.Context(), t.Logf, module(text), store)
		if err != nil {
			t.Fatal(err)
		}
		for program, want := range map[string]string{"written": text, "hello": "hello"} {
			output, err := exec.CommandContext(t.Context(), filepath.Join(dir, program)).CombinedOutput()
			if err != nil || strings.TrimSpace(string(output)) != want {
				t.Errorf("%s says %q, error %v, want %q", program, output, err, want)
			}
		}
	}
}

func TestFormerVersion(t *testing.T) {
	t.Parallel()
	for minor, want := range map[string]string{"": "", "1.37": "", "1.34": formerKubernetes()["1.34"]} {
		if got, err := formerVersion(minor, "v1.37.2"); err != nil || got != want {
			t.Errorf("of %q: got %q, error %v, want %q", minor, got, err, want)
		}
	}
	if _, err := formerVersion("1.3", "v1.37.2"); err == nil || !strings.Contains(err.Error(), "1.35, 1.36, 1.37") {
		t.Errorf("a version that cannot be built: got error %v, want one that lists the others", err)
	}
}

// The modules exist, and exactly the programs that run are built.
func TestModules(t *testing.T) {
	t.Parallel()
	root, err := repositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	plane, version, err := controlPlaneModule(root)
	if err != nil {
		t.Fatal(err)
	}
	var built []string
	for _, tool := range plane.tools {
		built = append(built, tool.name)
	}
	if diff := cmp.Diff(programs(), built); diff != "" {
		t.Errorf("programs that run and programs that are built (-run +built):\n%s", diff)
	}
	if !strings.Contains(plane.ldflags, ".gitVersion="+version+" ") || !strings.Contains(plane.ldflags, ".gitMajor=1 ") {
		t.Errorf("link flags do not name the version of Kubernetes: %s", plane.ldflags)
	}
	fleet, err := fleetModule(root)
	if err != nil {
		t.Fatal(err)
	}
	built = nil
	for _, tool := range fleet.tools {
		built = append(built, tool.name)
	}
	if diff := cmp.Diff(fleetPrograms(), built); diff != "" {
		t.Errorf("programs of Fleet that run and that are built (-run +built):\n%s", diff)
	}
	former, err := formerModule(root, "v1.34.4", "newest")
	if err != nil {
		t.Fatal(err)
	}
	if want := "replace k8s.io/api => k8s.io/api v0.34.4\n"; !strings.Contains(former.written["go.mod"], want) {
		t.Errorf("the module of another version of Kubernetes lacks %q:\n%s", want, former.written["go.mod"])
	}
	built = nil
	for _, each := range former.tools {
		built = append(built, each.name)
	}
	for _, each := range former.links {
		built = append(built, each.name)
	}
	slices.Sort(built)
	if diff := cmp.Diff(slices.Sorted(slices.Values(append(programs(), kwokStages))), built); diff != "" {
		t.Errorf("what another version of Kubernetes needs, and what is built and linked (-needs +built):\n%s", diff)
	}
	for _, module := range []buildModule{plane, former, openTofuModule(root), terraformModule("v1.16.4"), fleet} {
		if _, err := module.key(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// The table of versions in the documentation matches the modules.
func TestVersionsInTheDocumentation(t *testing.T) {
	t.Parallel()
	root, err := repositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "templates", "index.md.tmpl"))
	if err != nil {
		t.Fatal(err)
	}
	versions := slices.Collect(maps.Values(formerKubernetes()))
	versions = slices.AppendSeq(versions, maps.Values(builtTerraform()))
	for dir, module := range map[string]string{"controlplane": kubernetesPath, "opentofu": "github.com/opentofu/opentofu", "fleet": fleetPath} {
		version, err := requiredVersion(filepath.Join(root, "internal", "testenv", dir, "go.mod"), module)
		if err != nil {
			t.Fatal(err)
		}
		versions = append(versions, version)
	}
	for _, version := range versions {
		if number := strings.TrimPrefix(version, "v"); !strings.Contains(string(page), number) {
			t.Errorf("the page does not have version %s", number)
		}
	}
}
