package helm

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
)

// A patch that copies what it has made doubles a manifest with every line.
func TestPatchIsBounded(t *testing.T) {
	t.Parallel()
	var doubling strings.Builder
	for i := range 60 {
		_, _ = fmt.Fprintf(&doubling, "- {op: copy, from: /data, path: /data/x%d}\n", i)
	}
	large := strings.Repeat("x", 20<<20)
	tests := map[string]struct {
		patches []string
		want    string
	}{
		"one that copies":          {patches: []string{"- {op: copy, from: /data/a, path: /data/b}\n"}},
		"one that doubles":         {patches: []string{doubling.String()}, want: "copy"},
		"several, small by itself": {patches: []string{"data: {b: " + large + "}\n", "data: {c: " + large + "}\n"}, want: "larger than"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := []bundle.File{{Name: "a.yaml", Content: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: text}\n")}}
			var names []string
			for i, patch := range test.patches {
				names = append(names, fmt.Sprint(i))
				files = append(files, bundle.File{Name: fmt.Sprintf("overlays/%d/a_patch.yaml", i), Content: []byte(patch)})
			}
			_, err := overlay(files, names)
			if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error = %.300v, want one with %q", err, test.want)
			}
		})
	}
}
