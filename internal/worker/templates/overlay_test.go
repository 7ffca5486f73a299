package templates

import (
	"fmt"
	"strings"
	"testing"
)

// A patch that copies its own result doubles a manifest with every line.
func TestPatchIsBounded(t *testing.T) {
	t.Parallel()
	var doubling strings.Builder
	for i := range 60 {
		_, _ = fmt.Fprintf(&doubling, "- {op: copy, from: /data, path: /data/x%d}\n", i)
	}
	const most = 64 << 10
	tests := map[string]struct{ change, want string }{
		"one that copies":    {change: "- {op: copy, from: /data/a, path: /data/b}\n"},
		"one that doubles":   {change: doubling.String(), want: "copy"},
		"one that is large":  {change: "data: {b: " + strings.Repeat("x", most) + "}\n", want: "larger than 64 KiB"},
		"one that just fits": {change: "data: {b: " + strings.Repeat("x", most/2) + "}\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := patchWithin([]byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: text}\n"), []byte(test.change), most)
			if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error = %.300v, want one with %q", err, test.want)
			}
		})
	}
}
