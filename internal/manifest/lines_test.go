package manifest_test

import (
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
)

func TestLineOf(t *testing.T) {
	t.Parallel()
	nested := "l0: &l0 [{kind: A}]\n"
	for i := 1; i <= 9; i++ {
		level, below := string(rune('0'+i)), string(rune('0'+i-1))
		nested += "l" + level + ": &l" + level + " [{items: *l" + below + "}" + strings.Repeat(", {items: *l"+below+"}", 9) + "]\n"
	}
	tests := map[string]struct {
		file string
		want int
	}{
		"first document":             {"kind: ConfigMap\nmetadata: {name: web}\n", 1},
		"second document":            {"kind: Secret\nmetadata: {name: web}\n---\nkind: ConfigMap\nmetadata: {name: web}\n", 4},
		"item of a list":             {"kind: List\nitems:\n- kind: ConfigMap\n  metadata: {name: web}\n", 3},
		"generated name":             {"metadata: {generateName: web}\nkind: ConfigMap\n", 2},
		"none":                       {"kind: ConfigMap\nmetadata: {name: other}\n", 0},
		"no YAML":                    {"kind: [", 0},
		"a list that has itself":     {"&a\nkind: List\nitems: [*a]\n", 0},
		"items that have themselves": {"kind: List\nitems: &a [*a]\n", 0},
		"aliases of aliases":         {nested + "items: *l9\n", 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := manifest.LineOf([]byte(test.file), "ConfigMap", "web"); got != test.want {
				t.Errorf("line %d, want %d", got, test.want)
			}
		})
	}
}

func FuzzLineOf(f *testing.F) {
	for _, seed := range []string{"kind: ConfigMap\nmetadata: {name: web}\n", "&a\nkind: List\nitems: [*a]\n", "kind: List\nitems: &a [*a, {kind: ConfigMap}]\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, file string) {
		if line := manifest.LineOf([]byte(file), "ConfigMap", "web"); line < 0 || line > len(file)+1 {
			t.Errorf("line %d of %q", line, file)
		}
	})
}
