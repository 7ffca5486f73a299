package diff

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const briefObject = `apiVersion: apps/v1
data:
  app.conf: |
    one
    two
kind: Deployment
spec:
  replicas: 2
  template:
    spec:
      containers:
      - args:
        - --a
        - --b
        image: web:1
        name: web
      - image: side:1
        name: "side"
      volumes:
      - emptyDir: {}
`

func TestBrief(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		before, after string
		want          []string
	}{
		"a field of the object":        {"kind: Deployment", "kind: DaemonSet", []string{"~ K/n", "- kind: Deployment", "+ kind: DaemonSet"}},
		"a field":                      {"replicas: 2", "replicas: 3", []string{"~ K/n: spec", "- replicas: 2", "+ replicas: 3"}},
		"a field of an item":           {"web:1", "web:2", []string{"~ K/n: spec.template.spec.containers[web]", "- image: web:1", "+ image: web:2"}},
		"a field that begins an item":  {"side:1", "side:2", []string{"~ K/n: spec.template.spec.containers", "- - image: side:1", "+ - image: side:2"}},
		"an item of a list in an item": {"--b", "--c", []string{"~ K/n: spec.template.spec.containers[web].args", "- - --b", "+ - --c"}},
		"an item without a name":       {"      - emptyDir: {}\n", "      - emptyDir: {}\n        more: 1\n", []string{"~ K/n: spec.template.spec.volumes[]", "+ more: 1"}},
		"a line of a text":             {"    two\n", "    three\n", []string{"~ K/n: data.app.conf", "- two", "+ three"}},
		"a removed item":               {"        - --a\n", "", []string{"~ K/n: spec.template.spec.containers[web].args", "- - --a"}},
		"two places": {
			"replicas: 2\n  template:\n    spec:\n      containers:\n      - args:\n        - --a\n", "replicas: 3\n  template:\n    spec:\n      containers:\n      - args:\n        - --c\n",
			[]string{"~ K/n: spec", "- replicas: 2", "+ replicas: 3", "~ K/n: spec.template.spec.containers[web].args", "- - --a", "+ - --c"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(briefObject, test.before) {
				t.Fatal("the object does not contain it")
			}
			got := brief("K/n", briefObject, strings.Replace(briefObject, test.before, test.after, 1))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// For any two texts, each changed line is shown, and nothing else.
func FuzzBrief(f *testing.F) {
	f.Add(briefObject, strings.Replace(briefObject, "web:1", "web:2", 1))
	f.Add("- a\n- b\n", "  - a\n\n")
	f.Add("", "a: 1")
	f.Fuzz(func(t *testing.T, before, after string) {
		lines := brief("K/n", before, after)
		if before == after && len(lines) > 0 {
			t.Errorf("equal texts differ at %q", lines)
		}
		if before != after && len(lines) < 2 {
			t.Errorf("%q and %q differ at %q", before, after, lines)
		}
	})
}
