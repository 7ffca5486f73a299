package kube

import (
	"strings"
	"testing"
)

func TestWordsOf(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ log, want string }{
		"nothing":          {},
		"lines":            {log: "one\n\n two\t\nthree", want: ", and its log ends with: one | two | three"},
		"escape sequences": {log: "\x1b[31mred\x1b[0m\n", want: `, and its log ends with: \x1b[31mred\x1b[0m`},
		"cut off":          {log: "first\n" + strings.Repeat("x", logBytes-6), want: ", and its log ends with: first"},
		"one long line":    {log: strings.Repeat("x", logBytes)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := wordsOf(test.log); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
