package status_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

func TestMessage(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"short":         {text: "ok", want: "ok"},
		"several lines": {text: "first\n\tsecond\n", want: "first second"},
		"long":          {text: strings.Repeat("a", 121), want: strings.Repeat("a", 117) + "…"},
		"cut in a rune": {text: strings.Repeat("a", 116) + "éé" + "bbbb", want: strings.Repeat("a", 116) + "…"},
		"just fits":     {text: strings.Repeat("a", 120), want: strings.Repeat("a", 120)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := status.Message(test.text)
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if len(got) > status.MaxMessage || !utf8.ValidString(got) {
				t.Errorf("%q has %d bytes, valid: %t", got, len(got), utf8.ValidString(got))
			}
		})
	}
}
