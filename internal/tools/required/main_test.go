package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRun(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ in, want string }{
		"required":                 {in: `{"key":{"description":"The label. Required.","optional":true}}`, want: `{"key":{"description":"The label.","required":true}}`},
		"below others":             {in: `{"a":[{"attributes":{"key":{"description":"The label. Required.","optional":true,"type":"string"}}}]}`, want: `{"a":[{"attributes":{"key":{"description":"The label.","required":true,"type":"string"}}}]}`},
		"in an optional object":    {in: `{"description":"An object.","nested_type":{"attributes":{"key":{"description":"The label. Required.","optional":true}}},"optional":true}`, want: `{"description":"An object.","nested_type":{"attributes":{"key":{"description":"The label.","required":true}}},"optional":true}`},
		"optional":                 {in: `{"description":"The label.","optional":true}`, want: `{"description":"The label.","optional":true}`},
		"required with conditions": {in: `{"description":"The label. Required, unless it has none.","optional":true}`, want: `{"description":"The label. Required, unless it has none.","optional":true}`},
		"an attribute that is named description": {
			in:   `{"description":{"description":"Required.","optional":true},"optional":{"description":"A flag.","optional":true}}`,
			want: `{"description":{"description":"Required.","optional":true},"optional":{"description":"A flag.","optional":true}}`,
		},
		"numbers": {in: `{"version":12345678901234567890}`, want: `{"version":12345678901234567890}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			if err := run(strings.NewReader(test.in), &out); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, strings.TrimSpace(out.String())); diff != "" {
				t.Errorf("run() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRunOfNoSchema(t *testing.T) {
	t.Parallel()
	if err := run(strings.NewReader("no JSON"), &strings.Builder{}); err == nil {
		t.Error("text that is no JSON is no error")
	}
}
