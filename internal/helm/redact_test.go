package helm

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
)

func TestRedact(t *testing.T) {
	t.Parallel()
	const manifest = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData:\n  plain: hunter2\n  lines: |\n    one \"two\"\n    three\ndata:\n  encoded: c3dvcmRmaXNo\n---\n" +
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {plain: harmless}\n---\n" +
		"apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Secret, metadata: {name: l}, stringData: {word: open sesame}}]\n"
	tests := map[string]struct{ text, want string }{
		"plain":       {text: `data: "hunter2" is invalid`, want: `data: "(sensitive value)" is invalid`},
		"as base64":   {text: `aHVudGVyMg== is invalid`, want: `(sensitive value) is invalid`},
		"from base64": {text: `c3dvcmRmaXNo or swordfish`, want: `(sensitive value) or (sensitive value)`},
		"inside JSON": {text: `{"lines":"one \"two\"\nthree\n"}`, want: `{"lines":"(sensitive value)"}`},
		"in a list":   {text: `open sesame is invalid`, want: `(sensitive value) is invalid`},
		"no secret":   {text: `harmless`, want: `harmless`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			known := &redactor{}
			known.learn(manifest)
			err := known.redact(errors.Join(errors.New(test.text), fs.ErrClosed))
			if got := strings.TrimSuffix(err.Error(), "\n"+fs.ErrClosed.Error()); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if !errors.Is(err, fs.ErrClosed) {
				t.Error("the error has lost its type")
			}
		})
	}
}
