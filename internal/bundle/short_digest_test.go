package bundle_test

import (
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
)

func TestShortDigest(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ digest, want string }{
		"of a bundle":          {"v1-ac881d87e0f14f6a9d3b27c05e81f6aa", "ac881d87"},
		"of a later algorithm": {"v12-ac881d87e0f14f6a9d3b27c05e81f6aa", "ac881d87"},
		"with a colon":         {"v1:ac881d87e0f14f6a9d3b27c05e81f6aa", "ac881d87"},
		"of an algorithm":      {"sha256:ac881d87e0f14f6a9d3b27c05e81f6aa", "ac881d87"},
		"without a version":    {"ac881d87e0f14f6a9d3b27c05e81f6aa", "ac881d87"},
		"shorter":              {"v1-ac88", "ac88"},
		"only a version":       {"v1-", ""},
		"empty":                {"", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := bundle.ShortDigest(test.digest); got != test.want {
				t.Errorf("ShortDigest(%q) is %q, want %q", test.digest, got, test.want)
			}
		})
	}
}
