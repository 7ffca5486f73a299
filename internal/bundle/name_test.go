package bundle_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
)

func TestName(t *testing.T) {
	t.Parallel()

	tests := map[string]struct{ seed, want string }{
		"as it is":                        {"test/simple", "test-simple"},
		"dashes at the ends":              {"test/-edges-", "test-edges"},
		"runs of dashes":                  {"test/double--dash", "test-double-dash"},
		"a character that is lost":        {"test/assets/helm_repo_url", "test-assets-helm-repo-url-5bc6dae2"},
		"53 characters":                   {strings.Repeat("a", 53), strings.Repeat("a", 53)},
		"54 characters":                   {strings.Repeat("a", 54), strings.Repeat("a", 47) + "-eced9"},
		"a dash where a long name is cut": {strings.Repeat("a", 46) + "-" + strings.Repeat("b", 20), strings.Repeat("a", 46) + "-af63e"},
		"nothing left":                    {"---", "9efc314b65237d5d646e1b81"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if got := bundle.Name(test.seed); got != test.want {
				t.Errorf("Name(%q) = %q, want %q", test.seed, got, test.want)
			}
			if got := bundle.ReleaseName(test.seed); got != test.want {
				t.Errorf("ReleaseName(%q) = %q, want %q", test.seed, got, test.want)
			}
		})
	}
}

// FuzzName checks that Kubernetes and Helm accept every name, and that Name does not change such
// a name again.
func FuzzName(f *testing.F) {
	for _, seed := range []string{"test/simple", "App_One", "", "日本", strings.Repeat("a-", 60), "a/../b"} {
		f.Add(seed)
	}
	label := regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	f.Fuzz(func(t *testing.T, seed string) {
		name := bundle.Name(seed)
		if len(name) > 53 || !label.MatchString(name) {
			t.Errorf("Name(%q) = %q", seed, name)
		}
		if again := bundle.Name(name); again != name {
			t.Errorf("Name(%q) = %q", name, again)
		}
	})
}
