package policy_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/policy"
)

// A pattern names a cluster and a bundle, so that no pattern selects everything by mistake.
func TestDeploymentPatterns(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		pattern string
		valid   bool
	}{
		"a deployment":       {pattern: "eu-1/web", valid: true},
		"wildcards":          {pattern: "eu-*/w?b", valid: true},
		"two stars":          {pattern: "**/web", valid: true},
		"empty":              {},
		"no bundle":          {pattern: "eu-1"},
		"everything":         {pattern: "**"},
		"an empty bundle":    {pattern: "eu-1/"},
		"an empty cluster":   {pattern: "/web"},
		"more than a bundle": {pattern: "eu-1/web/x"},
		"too long":           {pattern: "eu-1/" + strings.Repeat("x", 1000)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := policy.CheckDeployment(test.pattern); (err == nil) != test.valid {
				t.Errorf("CheckDeployment(%q) = %v, want valid: %t", test.pattern, err, test.valid)
			}
		})
	}
}

func TestDeployments(t *testing.T) {
	t.Parallel()
	found, err := policy.NewDeployments([]string{"eu-*/web", "us/db", "eu-1/*"})
	if err != nil {
		t.Fatal(err)
	}
	for deployment, want := range map[string]bool{"eu-1/web": true, "eu-2/web": true, "eu-2/db": false, "us/db": true, "us/db2": false, "eu-1/any": true} {
		if found.Match(deployment) != want {
			t.Errorf("Match(%s) = %t", deployment, !want)
		}
	}
	if diff := cmp.Diff([]string{"us/db"}, found.Unmatched([]string{"eu-1/web", "us/web"})); diff != "" {
		t.Errorf("unmatched (-want +got):\n%s", diff)
	}
	if (policy.Deployments{}).Match("eu-1/web") {
		t.Error("no pattern matches")
	}
}
