// Package main_test tests rules for the repository as a whole.
package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const module = "github.com/agentless-fleet/terraform-provider-fleet"

// rule lists what a package of internal/ may import, with the folders below it that have no rule of
// their own. It may always import itself.
type rule struct {
	code  []string // packages, from its code
	tests []string // packages, from its tests as well
	uses  []string // libraries, in its code
	// testsUse are libraries that its tests use as well.
	testsUse []string
	// A pure package uses none of these libraries, not even through another one.
	pure bool
}

// architecture returns the table that DESIGN.md shows. An import that it does not list is not
// allowed.
func architecture() map[string]rule {
	core := []string{"wellknown", "fetch", "retry", "paging", "immutable", "mask", "secret", "panics", "diff", "sops", "image", "fleetyaml", "bundle", "target", "window", "release", "policy", "rollout", "status"}
	edges := []string{"git", "chart", "manifest", "render", "helm", "kustomize", "kube"}
	testServers := []string{"charttest", "faulttest", "gittest", "sopstest", "testenv"}
	// Tests mock nothing that can be run, so tests above the core use real servers.
	realThings := slices.Concat(edges, testServers, []string{"source", "deploy", "deploy/plan", "deploy/preview", "deploy/run", "worker/templates"})
	foreign := []string{"Kubernetes", "go-git"}

	return map[string]rule{
		"main":     {code: []string{"memory", "protocol", "provider", "worker/templates", "worker"}, uses: []string{"Terraform"}},
		"examples": {code: testServers, tests: testServers, uses: foreign, testsUse: foreign},

		"provider": {
			code: slices.Concat(core, edges, []string{"source", "deploy", "deploy/plan", "deploy/preview", "deploy/run", "cluster", "fleet", "worker/client", "state", "protocol", "report", "planreport", "progress", "config", "fleetschema", "diagnostics", "framework"}), tests: []string{"gittest", "providertest", "worker/templates", "worker"},
			uses: []string{"Terraform", "Kubernetes"},
		},
		"config":      {code: slices.Concat(core, []string{"git", "chart", "render", "kube", "deploy", "cluster", "fleet", "report", "fleetschema", "diagnostics", "framework"}), uses: []string{"Terraform"}},
		"fleetschema": {code: []string{"fleetyaml", "target", "framework"}, uses: []string{"Terraform"}},
		"diagnostics": {code: []string{"report"}, uses: []string{"Terraform"}},

		"cluster":  {code: append([]string{"state", "deploy", "deploy/preview", "deploy/run", "render", "helm", "kube"}, core...), tests: realThings, testsUse: foreign},
		"fleet":    {code: append([]string{"deploy", "deploy/run", "kube"}, core...), tests: realThings, uses: []string{"Kubernetes"}, testsUse: foreign},
		"report":   {code: append([]string{"deploy", "deploy/plan", "deploy/preview", "source", "state"}, core...), pure: true},
		"progress": {code: append([]string{"deploy"}, core...), pure: true},
		"state":    {code: append([]string{"deploy", "deploy/plan", "kube"}, core...), pure: true},
		"source":   {code: core, tests: realThings, testsUse: foreign, pure: true},

		// A plan reads no cluster, and an apply does not plan.
		"deploy":         {code: core, pure: true},
		"deploy/plan":    {code: append([]string{"deploy"}, core...), pure: true},
		"deploy/run":     {code: append([]string{"deploy"}, core...), tests: realThings, testsUse: foreign, pure: true},
		"deploy/preview": {code: append([]string{"deploy", "deploy/plan", "deploy/run"}, core...), pure: true},

		"protocol": {code: []string{"mask", "fetch"}, uses: []string{"Terraform"}},
		// Any provider could use this package, so it imports nothing of this provider.
		"framework": {uses: []string{"Terraform"}},

		// The package gets warnings as plain values, so it needs no report.
		"planreport": {code: append([]string{"deploy", "deploy/plan", "deploy/preview"}, core...), pure: true},

		"command":   {code: []string{"mask"}},
		"git":       {code: core, tests: realThings, uses: []string{"go-git"}, testsUse: foreign},
		"manifest":  {code: core, tests: realThings, uses: []string{"Kubernetes"}, testsUse: foreign},
		"chart":     {code: append([]string{"command"}, core...), tests: realThings, uses: []string{"Helm"}, testsUse: foreign},
		"render":    {code: append([]string{"chart", "manifest"}, core...), tests: realThings, uses: []string{"Helm", "Kubernetes"}, testsUse: foreign},
		"helm":      {code: append([]string{"manifest", "render"}, core...), tests: realThings, uses: []string{"Helm", "Kubernetes"}, testsUse: foreign},
		"kustomize": {code: core, tests: realThings, uses: []string{"kustomize"}, testsUse: foreign},
		"kube":      {code: append([]string{"command"}, core...), tests: realThings, uses: []string{"Kubernetes"}, testsUse: foreign},

		"status":    {code: []string{"fleetyaml", "bundle", "target", "release", "rollout"}, pure: true},
		"rollout":   {code: []string{"wellknown", "fleetyaml", "bundle", "target"}, pure: true},
		"release":   {code: []string{"diff", "fleetyaml", "bundle", "target"}, pure: true},
		"window":    {code: []string{"fleetyaml", "bundle", "target"}, pure: true},
		"policy":    {code: []string{"mask", "diff", "fleetyaml", "bundle", "target", "release"}, tests: []string{"manifest"}, pure: true},
		"target":    {code: []string{"wellknown", "mask", "secret", "diff", "fleetyaml", "bundle"}, tests: []string{"worker/templates"}, pure: true},
		"bundle":    {code: []string{"secret", "image", "fleetyaml", "sops"}, tests: []string{"sopstest"}, pure: true},
		"fleetyaml": {code: []string{"image"}, pure: true},
		"image":     {pure: true},
		"retry":     {pure: true},
		"memory":    {},
		"paging":    {pure: true},
		"immutable": {tests: realThings, testsUse: foreign, pure: true},
		"wellknown": {pure: true},

		"fetch":  {code: []string{"panics"}, pure: true},
		"diff":   {code: []string{"mask", "wellknown"}, pure: true},
		"mask":   {code: []string{"wellknown"}, pure: true},
		"secret": {code: []string{"mask"}, pure: true},
		"panics": {pure: true},
		"sops":   {code: []string{"secret"}, tests: []string{"sopstest"}, pure: true},

		"worker":           {code: []string{"memory", "panics"}, pure: true},
		"worker/client":    {code: append([]string{"render", "worker"}, core...), tests: realThings, testsUse: foreign},
		"worker/templates": {code: append([]string{"chart", "manifest", "render", "kustomize", "worker/client", "worker"}, core...), tests: realThings, uses: []string{"Helm", "Kubernetes"}, testsUse: foreign},

		// Nothing but tests.
		"acceptance":  {tests: append([]string{"provider", "planreport", "worker/templates", "worker"}, testServers...), testsUse: append([]string{"Terraform"}, foreign...)},
		"unknowns":    {tests: []string{"providertest", "charttest", "gittest", "sopstest", "fleetyaml", "target", "state", "status", "worker/templates", "worker"}, testsUse: []string{"Terraform"}},
		"conformance": {tests: slices.Concat(core, edges, []string{"worker/templates"}), testsUse: foreign},

		"charttest": {tests: realThings, uses: []string{"Helm"}, testsUse: foreign},
		"faulttest": {tests: realThings, testsUse: foreign},
		"sopstest":  {pure: true},
		"gittest":   {tests: realThings, uses: []string{"go-git"}, testsUse: foreign},
		"testenv":   {tests: realThings, uses: []string{"Kubernetes", "Terraform"}, testsUse: foreign},

		"providertest": {code: []string{"provider"}, uses: []string{"Terraform"}},
	}
}

// libraries maps import path prefixes to the library. The longest prefix applies. Every package may
// import paths whose library is "".
func libraries() map[string]string {
	return map[string]string{
		"github.com/hashicorp/terraform-": "Terraform",
		"helm.sh/":                        "Helm",
		"github.com/go-git/":              "go-git",
		"sigs.k8s.io/kustomize/":          "kustomize",
		"k8s.io/":                         "Kubernetes",
		"sigs.k8s.io/":                    "Kubernetes",
		"github.com/fluxcd/":              "Kubernetes",

		"sigs.k8s.io/yaml":                        "",
		"k8s.io/apimachinery/pkg/labels":          "",
		"k8s.io/apimachinery/pkg/selection":       "",
		"k8s.io/apimachinery/pkg/util/validation": "",
	}
}

// pkg is the output of `go list -json` for a package.
type pkg struct {
	ImportPath   string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

func TestImportDirection(t *testing.T) {
	t.Parallel()

	for _, violation := range violations(listPackages(t), architecture()) {
		t.Error(violation)
	}
}

// Foreign templates and patches run in workers. Only package templates can run them, and only main starts it.
// testenv renders a file of Fleet's.
func TestTemplatesRunInWorkers(t *testing.T) {
	t.Parallel()

	runs := []string{
		"text/template", "html/template", "github.com/Masterminds/sprig/v3", "helm.sh/helm/v3/pkg/engine",
		module + "/internal/kustomize", module + "/internal/worker/templates",
		"github.com/evanphx/json-patch/v5", "k8s.io/apimachinery/pkg/util/strategicpatch",
	}
	allowed := map[string]bool{"main": true, "worker/templates": true, "testenv": true}
	for _, p := range listPackages(t) {
		name, own := packageOf(p.ImportPath)
		if !own || allowed[name] {
			continue
		}
		for _, imported := range p.Imports {
			// kube limits its patches (rules.go), and compares objects of which a cluster has stored one.
			// manifest only reads how fields of Go types are merged (union.go).
			merges := name == "kube" || name == "manifest"
			if slices.Contains(runs, imported) && (!merges || !strings.Contains(imported, "patch")) {
				t.Errorf("%s imports %s", p.ImportPath, imported)
			}
		}
	}
}

func TestViolations(t *testing.T) {
	t.Parallel()

	const (
		internal = module + "/internal/"
		labels   = "k8s.io/apimachinery/pkg/labels"
	)
	tests := map[string]struct {
		packages []pkg
		want     []string
	}{
		"imports down": {packages: []pkg{
			{ImportPath: module, Imports: []string{internal + "provider", "fmt"}},
			{ImportPath: internal + "provider", Imports: []string{internal + "deploy", internal + "helm"}},
			{ImportPath: internal + "deploy/run", Imports: []string{internal + "release"}, TestImports: []string{internal + "kube"}},
			{ImportPath: internal + "release", Imports: []string{internal + "target"}},
			{ImportPath: internal + "testenv/cmd/testenv", Imports: []string{internal + "testenv"}},
			{ImportPath: internal + "helm", Imports: []string{"helm.sh/helm/v3/pkg/action"}, XTestImports: []string{internal + "helm", internal + "testenv"}},
		}},
		"an allowed library brings what it needs": {packages: []pkg{
			{ImportPath: internal + "target", Imports: []string{labels}},
			{ImportPath: labels, Imports: []string{"k8s.io/klog/v2"}},
		}},
		"core imports an edge": {
			packages: []pkg{{ImportPath: internal + "release", Imports: []string{internal + "helm"}}},
			want:     []string{"internal/release imports internal/helm"},
		},
		"core imports a later step of the core": {
			packages: []pkg{{ImportPath: internal + "bundle", Imports: []string{internal + "target"}}},
			want:     []string{"internal/bundle imports internal/target"},
		},
		"a release imports the order of releases": {
			packages: []pkg{{ImportPath: internal + "release", Imports: []string{internal + "rollout"}}},
			want:     []string{"internal/release imports internal/rollout"},
		},
		"edge imports an edge": {
			packages: []pkg{{ImportPath: internal + "helm", Imports: []string{internal + "kube"}}},
			want:     []string{"internal/helm imports internal/kube"},
		},
		"a folder in a package is bound like the package": {
			packages: []pkg{{ImportPath: internal + "git/auth", Imports: []string{internal + "kube"}}},
			want:     []string{"internal/git/auth imports internal/kube"},
		},
		"a folder with a rule of its own": {packages: []pkg{
			{ImportPath: internal + "worker/templates", Imports: []string{"helm.sh/helm/v3/pkg/chart", internal + "worker/client"}},
		}},
		"a package uses what only a folder in it may": {
			packages: []pkg{{ImportPath: internal + "worker", Imports: []string{"helm.sh/helm/v3/pkg/chart", internal + "worker/templates"}}},
			want: []string{
				"internal/worker uses Helm: it imports helm.sh/helm/v3/pkg/chart",
				"internal/worker imports internal/worker/templates",
			},
		},
		"a name that begins like another": {
			packages: []pkg{{ImportPath: internal + "git", Imports: []string{internal + "gittest"}}},
			want:     []string{"internal/git imports internal/gittest"},
		},
		"provider links what only tests use": {
			packages: []pkg{{ImportPath: internal + "provider", Imports: []string{internal + "testenv"}}},
			want:     []string{"internal/provider imports internal/testenv"},
		},
		"test of the core starts a cluster": {
			packages: []pkg{{ImportPath: internal + "target", XTestImports: []string{internal + "testenv"}}},
			want:     []string{"tests of internal/target import internal/testenv"},
		},
		"core uses Kubernetes": {
			packages: []pkg{{ImportPath: internal + "target", Imports: []string{"k8s.io/client-go/rest"}}},
			want:     []string{"internal/target uses Kubernetes: it imports k8s.io/client-go/rest"},
		},
		"another package uses Helm": {
			packages: []pkg{{ImportPath: internal + "kube", Imports: []string{"helm.sh/helm/v3/pkg/chart"}}},
			want:     []string{"internal/kube uses Helm: it imports helm.sh/helm/v3/pkg/chart"},
		},
		"test uses Terraform below the provider": {
			packages: []pkg{{ImportPath: internal + "helm", TestImports: []string{"github.com/hashicorp/terraform-plugin-testing/helper/resource"}}},
			want:     []string{"tests of internal/helm use Terraform: they import github.com/hashicorp/terraform-plugin-testing/helper/resource"},
		},
		"core uses a library through another one": {
			packages: []pkg{
				{ImportPath: internal + "status", Imports: []string{"example.com/a"}},
				{ImportPath: "example.com/a", Imports: []string{"example.com/b", "fmt"}},
				{ImportPath: "example.com/b", Imports: []string{"k8s.io/client-go/rest", "example.com/a"}},
			},
			want: []string{"internal/status reaches Kubernetes: example.com/a → example.com/b → k8s.io/client-go/rest"},
		},
		"a package that the table lacks": {
			packages: []pkg{{ImportPath: internal + "utils"}},
			want:     []string{"internal/utils is not in the table of packages"},
		},
		"a folder outside of internal": {
			packages: []pkg{{ImportPath: module + "/deploy"}},
			want:     []string{"deploy is not in the table of packages"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if diff := cmp.Diff(tt.want, violations(tt.packages, architecture())); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
}

// listPackages returns every package of the module and all that they import.
func listPackages(t *testing.T) []pkg {
	t.Helper()

	readSources(t)
	var stderr bytes.Buffer
	list := exec.CommandContext(t.Context(), "go", "list", "-deps",
		"-json=ImportPath,Imports,TestImports,XTestImports", "./...")
	list.Stderr = &stderr
	out, err := list.Output()
	if err != nil {
		t.Fatalf("listing packages: %v\n%s", err, &stderr)
	}

	var packages []pkg
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return packages
		}
		if err != nil {
			t.Fatalf("reading the list of packages: %v", err)
		}
		packages = append(packages, p)
	}
}

// readSources reads all Go files. go test repeats a passed test only if a file changes that the
// test itself has read, and go list is another process.
func readSources(t *testing.T) {
	t.Helper()

	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && strings.HasPrefix(path, ".") && path != "." {
			return filepath.SkipDir
		}
		if filepath.Ext(path) == ".go" {
			_, err = os.Stat(path)
		}
		return err
	})
	if err != nil {
		t.Fatalf("looking at the sources: %v", err)
	}
}

// violations returns a line for each import that the architecture does not allow.
func violations(packages []pkg, table map[string]rule) []string {
	imports := make(map[string][]string, len(packages))
	for _, p := range packages {
		imports[p.ImportPath] = p.Imports
	}

	var found []string
	for _, p := range packages {
		name, own := packageOf(p.ImportPath)
		if !own {
			continue
		}
		short := strings.TrimPrefix(p.ImportPath, module+"/")
		r, planned := table[name]
		if !planned {
			found = append(found, short+" is not in the table of packages")
			continue
		}
		found = append(found, r.codeViolations(name, short, p.Imports)...)
		found = append(found, r.testViolations(name, short, slices.Concat(p.TestImports, p.XTestImports))...)
		if r.pure {
			found = append(found, reaches(short, p.Imports, imports)...)
		}
	}

	return found
}

func (r rule) codeViolations(name, short string, imports []string) []string {
	var found []string
	for _, imported := range imports {
		to, own := packageOf(imported)
		if own && to != name && !slices.Contains(r.code, to) {
			found = append(found, fmt.Sprintf("%s imports %s", short, strings.TrimPrefix(imported, module+"/")))
		}
		if l := libraryOf(imported); l != "" && !slices.Contains(r.uses, l) {
			found = append(found, fmt.Sprintf("%s uses %s: it imports %s", short, l, imported))
		}
	}

	return found
}

func (r rule) testViolations(name, short string, imports []string) []string {
	var found []string
	allowed := slices.Concat(r.code, r.tests, []string{name})
	spoken := slices.Concat(r.uses, r.testsUse)
	for _, imported := range imports {
		to, own := packageOf(imported)
		if own && !slices.Contains(allowed, to) {
			found = append(found, fmt.Sprintf("tests of %s import %s", short, strings.TrimPrefix(imported, module+"/")))
		}
		if l := libraryOf(imported); l != "" && !slices.Contains(spoken, l) {
			found = append(found, fmt.Sprintf("tests of %s use %s: they import %s", short, l, imported))
		}
	}

	return found
}

// reaches follows libraries from a package's imports and reports the first way to each library. It
// does not enter our own packages, which are checked separately, nor libraries that every package
// may import.
func reaches(short string, start []string, imports map[string][]string) []string {
	ways := make(map[string]string)
	seen := make(map[string]bool)
	type step struct {
		path, way string
	}
	var queue []step
	for _, path := range start {
		queue = append(queue, step{path: path, way: path})
	}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		_, own := packageOf(at.path)
		_, named := library(at.path)
		if seen[at.path] || own || named {
			continue
		}
		seen[at.path] = true
		for _, next := range imports[at.path] {
			way := at.way + " → " + next
			if l := libraryOf(next); l != "" && ways[l] == "" {
				ways[l] = way
			}
			queue = append(queue, step{path: next, way: way})
		}
	}

	var found []string
	for _, l := range slices.Sorted(maps.Keys(ways)) {
		found = append(found, fmt.Sprintf("%s reaches %s: %s", short, l, ways[l]))
	}

	return found
}

// packageOf names one of our packages as the table does: by the longest path below internal/ that has
// a rule, or else by the folder below internal/. It is "main" for the root, and "examples" below
// examples/. For any other folder it returns "./path", which no rule names. own is false for other
// modules.
func packageOf(imported string) (name string, own bool) {
	if imported == module {
		return "main", true
	}
	folder, own := strings.CutPrefix(imported, module+"/")
	if !own {
		return "", false
	}
	first, _, _ := strings.Cut(folder, "/")
	if first == "examples" {
		return first, true
	}
	inside, isInside := strings.CutPrefix(folder, "internal/")
	if !isInside {
		return "./" + folder, true
	}
	table := architecture()
	for name = inside; strings.Contains(name, "/"); name = path.Dir(name) {
		if _, planned := table[name]; planned {
			break
		}
	}

	return name, true
}

// libraryOf returns the library of an import path, "" if every package may import it.
func libraryOf(path string) string {
	l, _ := library(path)

	return l
}

// library returns the library of an import path, and reports whether the table names it.
func library(path string) (name string, named bool) {
	longest := -1
	for prefix, l := range libraries() {
		if strings.HasPrefix(path, prefix) && len(prefix) > longest {
			longest, name = len(prefix), l
		}
	}

	return name, longest >= 0
}
