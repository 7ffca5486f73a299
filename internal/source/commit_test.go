package source_test

import (
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/source"
)

func TestStoredCommitCountsOnlyForItsRepository(t *testing.T) {
	t.Parallel()
	main := source.GitSource{Repo: "https://x/y", Ref: source.Ref{Branch: "main"}}
	raw, err := main.Store("c0ffee")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		of   source.GitSource
		raw  []byte
		want string
	}{
		"the same":           {of: main, raw: raw, want: "c0ffee"},
		"another repository": {of: source.GitSource{Repo: "https://x/z", Ref: source.Ref{Branch: "main"}}, raw: raw},
		"another branch":     {of: source.GitSource{Repo: "https://x/y", Ref: source.Ref{Branch: "next"}}, raw: raw},
		"a revision":         {of: source.GitSource{Repo: "https://x/y", Ref: source.Ref{Revision: "main"}}, raw: raw},
		"nothing":            {of: main},
		"damaged":            {of: main, raw: []byte("{")},
		"as 0.1 wrote it":    {of: main, raw: []byte(`{"repo":"https://x/y","ref":{"Branch":"main","Revision":""},"commit":"c0ffee"}`), want: "c0ffee"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.of.Stored(test.raw); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
