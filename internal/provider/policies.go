package provider

import (
	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/config"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diagnostics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/policy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/source"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// checkerOf returns the checker for the deployments of a target, nil without policies.
func checkerOf(s config.Settings, m *targetModel, clusters []target.Cluster, files policy.Files, diags *diag.Diagnostics) *policy.Checker {
	if len(s.Policies) == 0 {
		return nil
	}
	set, err := policy.New(s.Policies, clusters, s.Groups)
	if err != nil {
		diagnostics.Add(diags, report.InvalidPolicies(err))
		return nil
	}
	repositories := source.Repositories(elementsIn(m.Bundles))
	return &policy.Checker{Set: set, Repositories: repositories, Files: files, HasEngine: s.HasEngine()}
}

// defaultsOf returns the function of target.Input for options that are not set.
func defaultsOf(checker *policy.Checker) func(string, *bundle.Bundle, fleetyaml.Options) fleetyaml.Options {
	if checker == nil {
		return nil
	}
	return checker.Defaults
}

// withPolicies adds policies to desired.
func withPolicies(desired plan.Desired, checker *policy.Checker) plan.Desired {
	if checker != nil {
		desired.Policies = checker
	}
	return desired
}
