package diff_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
)

var update = flag.Bool("update", false, "write the golden files anew") //nolint:gochecknoglobals // a flag of the test binary

// Every file of testdata/diff contains deployments and the text that is wanted. A deployment is
// cluster/bundle/before.yaml and after.yaml, with its remarks in cluster/bundle/about.
func TestJoin(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			const wanted = "want.txt"
			files := map[string]string{}
			for _, file := range archive.Files {
				files[file.Name] = string(file.Data)
			}
			got := diff.Join(diffsOf(t, files)) + "\n"
			if strings.Contains(got, "hidden") || strings.Contains(got, "aGlkZGVu") || strings.Contains(got, "hpZGRlb") || strings.Contains(got, "oaWRkZW4") {
				t.Errorf("a secret can be read:\n%s", got)
			}
			if *update {
				archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return f.Name == wanted })
				archive.Files = append(archive.Files, txtar.File{Name: wanted, Data: []byte(got)})
				if err := os.WriteFile(name, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(files[wanted], got); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
}

func diffsOf(t *testing.T, files map[string]string) []diff.DeploymentDiff {
	t.Helper()
	previews := map[string]*diff.Preview{}
	for name := range files {
		if parts := strings.Split(name, "/"); len(parts) == 3 {
			previews[parts[0]+"/"+parts[1]] = &diff.Preview{Cluster: parts[0], Bundle: parts[1], Kind: diff.Modified}
		}
	}
	var diffs []diff.DeploymentDiff
	for _, name := range slices.Sorted(maps.Keys(previews)) {
		preview := previews[name]
		for line := range strings.Lines(files[name+"/about"]) {
			switch line = strings.TrimSpace(line); line {
			case "goes":
				preview.Kind = diff.Removed
			case "comes":
				preview.Kind = diff.Added
			case "listed":
				preview.Listed = true
			default:
				preview.Notes = append(preview.Notes, line)
			}
		}
		var err error
		preview.Objects, err = diff.Compare(documents(t, files[name+"/before.yaml"]), documents(t, files[name+"/after.yaml"]))
		if err != nil {
			t.Fatal(err)
		}
		diffs = append(diffs, preview.Diff())
	}
	return diffs
}

// documents reads the objects of a manifest. An object with an annotation "hook" is a hook.
func documents(t *testing.T, manifest string) []diff.Document {
	t.Helper()
	var read []diff.Document
	for text := range strings.SplitSeq(manifest, "---\n") {
		if strings.TrimSpace(text) == "" {
			continue
		}
		var object struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Metadata   struct {
				Name        string            `json:"name"`
				Annotations map[string]string `json:"annotations"`
			} `json:"metadata"`
		}
		if err := yaml.Unmarshal([]byte(text), &object); err != nil {
			t.Fatal(err)
		}
		content, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		group, _, found := strings.Cut(object.APIVersion, "/")
		if !found {
			group = ""
		}
		read = append(read, diff.Document{
			Object: diff.Object{Group: group, Kind: object.Kind, Namespace: "ns", Name: object.Metadata.Name},
			Hook:   object.Metadata.Annotations["helm.sh/hook"] != "", Content: string(content),
		})
	}
	return read
}

// Lines that are left out are counted, for one deployment and for all.
func TestJoinIsCut(t *testing.T) {
	t.Parallel()
	lines := func(n int) string {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, "line-%d: x\n", i)
		}
		return text.String()
	}
	added := func(key string, n int) diff.ObjectChange { return diff.ObjectChange{Key: key, After: lines(n)} }
	tests := map[string]struct {
		previews []diff.Preview
		want     []string
		notWant  []string
	}{
		"nothing is left out": {
			previews: []diff.Preview{{Cluster: "a", Bundle: "web", Kind: diff.Modified, Objects: []diff.ObjectChange{added("ConfigMap/one", 99)}}},
			want:     []string{"+line-98: x"}, notWant: []string{"..."},
		},
		"one line too many": {
			previews: []diff.Preview{{Cluster: "a", Bundle: "web", Kind: diff.Modified, Objects: []diff.ObjectChange{added("ConfigMap/one", 100)}}},
			want:     []string{"+line-98: x", "... 1 line left out"}, notWant: []string{"+line-99: x", "among"},
		},
		"objects that nobody sees": {
			previews: []diff.Preview{{Cluster: "a", Bundle: "web", Kind: diff.Modified, Objects: []diff.ObjectChange{
				added("ConfigMap/one", 80), added("ConfigMap/three", 50), added("ConfigMap/two", 50),
			}}},
			want: []string{"... 83 lines left out, with 1 more object"}, notWant: []string{"ConfigMap/two"},
		},
		"all together": {
			previews: slices.Collect(func(yield func(diff.Preview) bool) {
				for i := range 9 {
					if !yield(diff.Preview{Cluster: "a", Bundle: fmt.Sprintf("b%d", i), Kind: diff.Modified, Objects: []diff.ObjectChange{added("ConfigMap/one", 89)}}) {
						return
					}
				}
			}),
			want: []string{"b3 on a", "... 55 lines left out", "Left out: 4 more deployments, with 360 lines."}, notWant: []string{"b5 on a"},
		},
		"a long line": {
			previews: []diff.Preview{{Cluster: "a", Bundle: "web", Kind: diff.Modified, Objects: []diff.ObjectChange{{Key: "ConfigMap/one", After: "key: " + strings.Repeat("ä", 500) + "\n"}}}},
			want:     []string{"... 806 bytes left out"},
		},
		"many clusters": {
			previews: slices.Collect(func(yield func(diff.Preview) bool) {
				for i := range 50 {
					if !yield(diff.Preview{Cluster: fmt.Sprintf("c%02d", i), Bundle: "web", Kind: diff.Added, Objects: []diff.ObjectChange{added("ConfigMap/one", 1)}}) {
						return
					}
				}
			}),
			want: []string{"web on c00, c01,", "c11 and 38 more is added: objects +1"}, notWant: []string{"c12"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var diffs []diff.DeploymentDiff
			for _, preview := range tt.previews {
				diffs = append(diffs, preview.Diff())
			}
			text := diff.Join(diffs)
			for _, want := range tt.want {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in\n%s", want, text)
				}
			}
			for _, not := range tt.notWant {
				if strings.Contains(text, not) {
					t.Errorf("%q is in\n%s", not, text)
				}
			}
			if number := strings.Count(text, "\n"); number > 450 {
				t.Errorf("%d lines", number)
			}
		})
	}
}
