package report

import (
	"fmt"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
)

// consentFor returns the setting that lets deployments take over what others have. Of many
// deployments it names the first as an example.
func consentFor(keys []deploy.Key) string {
	const named = 5
	if len(keys) > named {
		return fmt.Sprintf("take_ownership_of with patterns of these deployments, such as %q,", keys[0])
	}
	quoted := make([]string, len(keys))
	for i, key := range keys {
		quoted[i] = fmt.Sprintf("%q", key)
	}
	return "take_ownership_of = [" + strings.Join(quoted, ", ") + "]"
}

// UnmatchedConsent reports patterns of take_ownership_of that match no deployment.
func UnmatchedConsent(name string, patterns []string) []Message {
	if len(patterns) == 0 {
		return nil
	}
	return []Message{{
		Severity: Warning, Attribute: []any{"take_ownership_of"},
		Summary: "Target " + name + ": patterns of take_ownership_of match no deployment",
		Detail: listOf(patterns) + "\n\nThey have no effect. A pattern is compared with CLUSTER/BUNDLE, as in the attribute deployments. " +
			"Correct them, or remove them if their deployments are gone.",
	}}
}
