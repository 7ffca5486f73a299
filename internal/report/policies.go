package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/policy"
)

// maxPolicyLines is the maximum number of lines in one message about one rule.
const maxPolicyLines = 20

// Policies reports the violations of policies by a target: one message for each policy and
// rule, over all clusters and bundles.
func Policies(name string, violations []policy.Violation) []Message {
	type cause struct {
		policy, rule string
		action       policy.Action
	}
	var (
		causes []cause
		by     = map[cause][]policy.Violation{}
	)
	for _, v := range violations {
		key := cause{v.Policy, v.Rule, v.Action}
		if by[key] == nil {
			causes = append(causes, key)
		}
		by[key] = append(by[key], v)
	}
	var messages []Message
	for _, key := range causes {
		keys := keysOfViolations(by[key])
		summary := fmt.Sprintf("Target %s: policy %s (%s) refuses %s", name, key.policy, key.rule, deploy.SummaryOf(keys))
		detail := violationLines(by[key])
		if key.action == policy.Warn {
			summary = fmt.Sprintf("Target %s: policy %s (%s) warns of %s", name, key.policy, key.rule, deploy.SummaryOf(keys))
			messages = append(messages, warning(summary, detail)...)
			continue
		}
		messages = append(messages, failure(summary, detail+"\n"+notBegun+" Correct the bundle, or change the policy in the provider block.")...)
	}
	return messages
}

func keysOfViolations(violations []policy.Violation) []deploy.Key {
	var keys []deploy.Key
	for _, v := range violations {
		if key := (deploy.Key{Cluster: v.Cluster, Bundle: v.Bundle}); !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// violationLines returns one line for each kind of violation, with its deployments.
func violationLines(violations []policy.Violation) string {
	var (
		texts []string
		by    = map[string][]policy.Violation{}
	)
	for _, v := range violations {
		text := v.What()
		if by[text] == nil {
			texts = append(texts, text)
		}
		by[text] = append(by[text], v)
	}
	var lines strings.Builder
	for _, text := range texts[:min(len(texts), maxPolicyLines)] {
		fmt.Fprintf(&lines, "  - %s: %s\n", deploy.ListOf(keysOfViolations(by[text])), text)
	}
	if len(texts) > maxPolicyLines {
		fmt.Fprintf(&lines, "  - and %d more\n", len(texts)-maxPolicyLines)
	}
	return lines.String()
}

// InvalidPolicies reports policies that cannot be used.
func InvalidPolicies(err error) []Message {
	return failureAt([]any{"policies"}, "Invalid policies", Sentence(err))
}

// InvalidFleetPolicies reports objects of Fleet that cannot be used as policies.
func InvalidFleetPolicies(err error) []Message {
	return failureAt([]any{"fleet_policies"}, "Invalid fleet_policies", Sentence(err))
}

// UnusedFleetPolicies warns of fields of Fleet's objects that have no effect here.
func UnusedFleetPolicies(fields []string) []Message {
	if len(fields) == 0 {
		return nil
	}
	return []Message{{
		Severity: Warning, Attribute: []any{"fleet_policies"}, Summary: "Some fields of fleet_policies have no effect",
		Detail: listOf(fields) + "\n\nNames of Secrets: credentials belong to a URL in git and registries of the provider, and are sent nowhere else. " +
			"allowedDownstreamResources: nothing is copied to the clusters.",
	}}
}
