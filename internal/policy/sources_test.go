package policy_test

import (
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/policy"
)

func TestSources(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		pattern, address string
		matches, names   bool
	}{
		"the address":             {"https://github.com/acme/web", "https://github.com/acme/web", true, true},
		"below":                   {"https://github.com/acme/**", "https://github.com/acme/a/b", true, true},
		"a sibling":               {"https://github.com/acme/**", "https://github.com/acme-evil/web", false, false},
		"one segment":             {"oci://ghcr.io/acme/*", "oci://ghcr.io/acme/a/b", false, false},
		"a host before it":        {"https://github.com/acme/**", "https://evil.example.com/https://github.com/acme/x", false, false},
		"any part of a host":      {"https://*.example.com/**", "https://git.example.com/x", true, false},
		"one letter of a host":    {"https://git?.example.com/**", "https://git1.example.com/x", true, false},
		"anything":                {"**", "http://127.0.0.1/x", true, false},
		"any scheme":              {"*://127.0.0.1/**", "http://127.0.0.1/x", true, true},
		"a wildcard in the path":  {"http://127.0.0.1/*/x", "http://127.0.0.1/a/x", true, true},
		"a dot is no wildcard":    {"https://git.example.com/**", "https://gitXexample.com/x", false, false},
		"another scheme":          {"https://git.example.com/**", "http://git.example.com/x", false, false},
		"another port":            {"https://git.example.com/**", "https://git.example.com:8443/x", false, false},
		"a host that begins such": {"https://git.example.com**", "https://git.example.com.evil.org/x", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := policy.CheckSource(test.pattern); err != nil {
				t.Fatal(err)
			}
			sources, err := policy.NewSources([]string{test.pattern})
			if err != nil {
				t.Fatal(err)
			}
			if matches, names := sources.Match(test.address), sources.Names(test.address); matches != test.matches || names != test.names {
				t.Errorf("%s: matches %t, names %t", test.pattern, matches, names)
			}
		})
	}
	many := make([]string, 20)
	for i := range many {
		many[i] = "https://example.com/**"
	}
	first, err := policy.NewSources(many)
	if err != nil {
		t.Fatal(err)
	}
	many[19] = "https://example.org/**"
	second, err := policy.NewSources(many)
	if err != nil {
		t.Fatal(err)
	}
	if first.Key() == second.Key() || first.String() != second.String() {
		t.Error("different patterns have one key, or all of many patterns are printed")
	}
	for _, invalid := range []string{"", "git@github.com:acme/**", "github.com/acme"} {
		if policy.CheckSource(invalid) == nil {
			t.Errorf("%q is accepted", invalid)
		}
	}
}
