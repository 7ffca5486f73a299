package chart_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart/loader"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/chart"
)

// IgnoreRules leaves out the files that Helm leaves out when it loads the folder.
func TestIgnoreRulesAreThoseOfHelm(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		ignored string
		want    []string // Files that Helm loads, besides Chart.yaml.
	}{
		"a base name":             {ignored: "*.bak\n", want: []string{"ci/x.yaml", "docs/a.md", "templates/a.yaml", "templates/ci/b.yaml"}},
		"a folder at any depth":   {ignored: "ci/\n", want: []string{"docs/a.md", "old.bak", "templates/a.yaml", "templates/old.bak"}},
		"a folder without slash":  {ignored: "ci\n", want: []string{"docs/a.md", "old.bak", "templates/a.yaml", "templates/old.bak"}},
		"a path from the root":    {ignored: "/old.bak\n", want: []string{"ci/x.yaml", "docs/a.md", "templates/a.yaml", "templates/ci/b.yaml", "templates/old.bak"}},
		"a path":                  {ignored: "templates/ci\n", want: []string{"ci/x.yaml", "docs/a.md", "old.bak", "templates/a.yaml", "templates/old.bak"}},
		"negated":                 {ignored: "!*.yaml\n", want: []string{}},
		"comments and blanks":     {ignored: "\ufeff# *\n\n  docs  \n", want: []string{"ci/x.yaml", "old.bak", "templates/a.yaml", "templates/ci/b.yaml", "templates/old.bak"}},
		"nothing that is there":   {ignored: ".git/\n*.tmp\n", want: []string{"ci/x.yaml", "docs/a.md", "old.bak", "templates/a.yaml", "templates/ci/b.yaml", "templates/old.bak"}},
		"a question mark, a list": {ignored: "old.ba?\n[cd]*\n", want: []string{"templates/a.yaml"}},
	}
	all := []string{"ci/x.yaml", "docs/a.md", "old.bak", "templates/a.yaml", "templates/ci/b.yaml", "templates/old.bak"}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			files := map[string]string{"Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n", ".helmignore": test.ignored}
			for _, file := range all {
				files[file] = "{}\n"
			}
			for file, content := range files {
				at := filepath.Join(dir, filepath.FromSlash(file))
				if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, []byte(content), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			isLeftOut, err := chart.IgnoreRules([]byte(test.ignored))
			if err != nil {
				t.Fatal(err)
			}
			kept := slices.DeleteFunc(slices.Clone(all), isLeftOut)
			if diff := cmp.Diff(test.want, kept); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			loaded, err := loader.LoadDir(dir)
			if name == "negated" { // Helm then loads a folder without Chart.yaml.
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			helms := map[string]bool{}
			for _, file := range loaded.Raw {
				helms[file.Name] = true
			}
			delete(helms, "Chart.yaml")
			delete(helms, ".helmignore")
			if diff := cmp.Diff(slices.Sorted(maps.Keys(helms)), kept); diff != "" {
				t.Errorf("Helm loads (-Helm +ours):\n%s", diff)
			}
		})
	}
}

func TestIgnoreRulesErrors(t *testing.T) {
	t.Parallel()
	for _, rules := range []string{"**/ci\n", "[a\n"} {
		if _, err := chart.IgnoreRules([]byte(rules)); err == nil {
			t.Errorf("%q is accepted, and Helm refuses it", rules)
		}
	}
}
