package deploy

import (
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/policy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Policies check what is to be written.
type Policies interface {
	// Planned returns the violations of a deployment and of its objects, as far as they are known.
	Planned(d target.Deployment, rendering release.Rendering) ([]policy.Violation, error)
	// NeedsObjects reports whether the objects of a deployment have to be checked.
	NeedsObjects(d target.Deployment) bool
	// Written returns the violations of the objects that are about to be written.
	Written(d target.Deployment, documents []diff.Document) []policy.Violation
}

// checkPolicies adds the violations of a deployment.
func (p *Plan) checkPolicies(d target.Deployment, rendering release.Rendering, policies Policies) error {
	if policies == nil {
		return nil
	}
	violations, err := policies.Planned(d, rendering)
	if len(rendering.HiddenTexts) > 0 {
		masker := &mask.Masker{}
		masker.Add(rendering.HiddenTexts...)
		violations = masked(violations, masker.Text)
	}
	p.Violations = append(p.Violations, violations...)
	return err
}

// check returns the policy check that runs before objects are written, nil if none is needed. The
// plan has checked the objects that most charts render. But the plan may have run in another
// process. Hooks, values from the cluster and objects that a chart looks up are known only now.
func (w *deploymentWrite) check() func([]diff.Document, func(string) string) error {
	policies := w.run.request.Policies
	if policies == nil || !policies.NeedsObjects(w.d) {
		return nil
	}
	return func(documents []diff.Document, mask func(string) string) error {
		denied, warned := policy.Split(masked(policies.Written(w.d, documents), mask))
		if !allKnown(w.run.request.Planned[w.key]) { // Else the plan has warned already.
			w.run.results.addWarned(warned)
		}
		if len(denied) > 0 {
			return &policy.RefusedError{Violations: denied}
		}
		return nil
	}
}

// masked returns violations whose texts quote nothing that must not be printed.
func masked(violations []policy.Violation, mask func(text string) string) []policy.Violation {
	for i := range violations {
		violations[i].Text, violations[i].Object = mask(violations[i].Text), mask(violations[i].Object)
	}
	return violations
}

// addWarned notes violations that only warn.
func (r *results) addWarned(violations []policy.Violation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.warned = append(r.warned, violations...)
}

// sortedViolations returns violations sorted by policy, rule, cluster and bundle.
func sortedViolations(violations []policy.Violation) []policy.Violation {
	slices.SortStableFunc(violations, policy.Violation.Compare)
	return violations
}
