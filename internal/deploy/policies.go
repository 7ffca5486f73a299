package deploy

import (
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/policy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Policies check what is to be written.
type Policies interface {
	// Planned returns what is not allowed of a deployment and of its objects, as far as they
	// are known.
	Planned(d target.Deployment, rendering release.Rendering) ([]policy.Violation, error)
	// NeedsObjects reports whether the objects of a deployment have to be checked.
	NeedsObjects(d target.Deployment) bool
	// Written returns what is not allowed of the objects that are about to be written.
	Written(d target.Deployment, documents []diff.Document) []policy.Violation
}

// checkPolicies adds what policies do not allow of a deployment.
func (p *Plan) checkPolicies(d target.Deployment, rendering release.Rendering, policies Policies) error {
	if policies == nil {
		return nil
	}
	violations, err := policies.Planned(d, rendering)
	p.Violations = append(p.Violations, violations...)
	return err
}

// check returns what refuses objects before they are written, nil if nothing does. A plan knows
// what most charts render to, but its process need not be this one, and hooks, values of the
// cluster and what a chart looks up are known only now.
func (w *deploymentWrite) check() func([]diff.Document) error {
	policies := w.run.request.Policies
	if policies == nil || !policies.NeedsObjects(w.d) {
		return nil
	}
	return func(documents []diff.Document) error {
		denied, warned := policy.Split(policies.Written(w.d, documents))
		if !allKnown(w.run.request.Planned[w.key]) { // Else the plan has warned.
			w.run.results.addWarned(warned)
		}
		if len(denied) > 0 {
			return &policy.RefusedError{Violations: denied}
		}
		return nil
	}
}

// addWarned notes what policies warn of.
func (r *results) addWarned(violations []policy.Violation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.warned = append(r.warned, violations...)
}

// sortedViolations are violations by policy, rule, cluster and bundle.
func sortedViolations(violations []policy.Violation) []policy.Violation {
	slices.SortStableFunc(violations, policy.Violation.Compare)
	return violations
}
