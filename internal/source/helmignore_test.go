package source_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/chart"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/source"
)

// A .helmignore changes a bundle only if it leaves out a file and the Spec applies it. A descriptor
// of a release that did not support .helmignore makes the same bundle as that release.
func TestHelmIgnore(t *testing.T) {
	t.Parallel()
	files := func(ignored string) map[string]string {
		made := map[string]string{
			"app/Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.0.0\n", "app/templates/a.yaml": "a: b\n", "app/ci/x.yaml": "a: b\n", "app/README.md": "",
		}
		if ignored != "" {
			made["app/.helmignore"] = ignored
		}
		return made
	}
	generated := func(ignored string, counts bool) source.Generated {
		t.Helper()
		spec := source.Spec{Files: files(ignored), HelmIgnore: counts, Read: &bundle.ReadOptions{RepoName: "r", Paths: []string{"app"}, Strict: true}}
		return generate(t, newStoreWith(t, source.Config{IgnoreRules: chart.IgnoreRules}), spec)["r-app"]
	}
	none := generated("", true)
	tests := map[string]struct {
		ignored string
		counts  bool
		want    bool // Whether the bundle differs.
	}{
		"leaves out a folder":                 {"ci/\n", true, true},
		"leaves out a folder, does not count": {"ci/\n", false, false},
		"leaves out nothing":                  {".git/\n*.tmp\n", true, false},
		"is empty":                            {"\n", true, false},
	}
	for name, test := range tests {
		made := generated(test.ignored, test.counts)
		if (made.Bundle.Digest != none.Bundle.Digest) != test.want {
			t.Errorf("%s: digest %s, without the file %s", name, made.Bundle.Digest, none.Bundle.Digest)
		}
		isIgnoreFile := func(file bundle.File) bool { return file.Name == bundle.HelmIgnoreFile }
		if slices.ContainsFunc(made.Bundle.Files, isIgnoreFile) != test.want {
			t.Errorf("%s: files %v", name, made.Bundle.Files)
		}
		again, err := newStoreWith(t, source.Config{IgnoreRules: chart.IgnoreRules}).Bundle(t.Context(), made.Descriptor, made.Bundle.Digest)
		if err != nil {
			t.Fatalf("%s, in another process: %v", name, err)
		}
		if diff := cmp.Diff(made.Bundle, again); diff != "" {
			t.Errorf("%s, in another process (-first +second):\n%s", name, diff)
		}
	}
	if a, b := generated("ci/\n", true), generated("ci/\n*.md\n", true); a.Bundle.Content == b.Bundle.Content {
		t.Error("another .helmignore gives the same content")
	}
}

func TestHelmIgnoreErrors(t *testing.T) {
	t.Parallel()
	for ignored, want := range map[string]string{
		"**/ci\n":                    ".helmignore: double-star",
		strings.Repeat("a\n", 1_001): ".helmignore: more than 1000 lines",
	} {
		spec := source.Spec{Files: map[string]string{"Chart.yaml": "name: a\n", ".helmignore": ignored}, HelmIgnore: true, Read: &bundle.ReadOptions{RepoName: "r"}}
		_, err := newStoreWith(t, source.Config{IgnoreRules: chart.IgnoreRules}).Generate(t.Context(), spec, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
}
