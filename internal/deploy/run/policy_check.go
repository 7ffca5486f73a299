package run

import (
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/policy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// check returns the policy check that runs before objects are written, nil if none is needed. The
// plan has checked the objects that most charts render. But the plan may have run in another
// process. Hooks, values from the cluster and objects that a chart looks up are known only now.
func (w *deploymentWrite) check() func([]diff.Document, func(string) string) error {
	policies := w.run.request.Policies
	if policies == nil || !policies.NeedsObjects(w.d) {
		return nil
	}
	return func(documents []diff.Document, mask func(string) string) error {
		denied, warned := policy.Split(policy.Masked(policies.Written(w.d, documents), mask))
		if !release.AllKnown(w.run.request.Planned[w.key]) { // Else the plan has warned already.
			w.run.results.addWarned(warned)
		}
		if len(denied) > 0 {
			return &policy.RefusedError{Violations: denied}
		}
		return nil
	}
}
