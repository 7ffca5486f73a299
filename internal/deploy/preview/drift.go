package preview

import (
	"context"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// compareDrift compares the releases whose drift a plan corrects with their live objects. read are the
// records of the releases. The result is by deployment.
func (p *diffPreview) compareDrift(
	ctx context.Context, cluster ObjectReader, snapshot release.Snapshot, changes []comparedChange, read map[string]release.Deployed,
) map[deploy.Key]release.Compared {
	var (
		keys   []deploy.Key
		wanted []release.Comparison
	)
	for _, change := range changes {
		observed := p.deployed(snapshot, change)
		if observed == nil || !p.corrects(change, *observed) {
			continue
		}
		prior := p.prior[change.key]
		keys = append(keys, change.key)
		wanted = append(wanted, release.Comparison{
			Namespace: observed.Namespace, Rules: prior.Rules, Documents: read[release.Key(observed.Namespace, observed.Release)].Documents,
			Wrote: &release.Inspection{Observed: *observed, Accepted: prior.Accepted},
		})
	}
	if len(keys) == 0 {
		return nil
	}
	found := make(map[deploy.Key]release.Compared, len(keys))
	for i, compared := range cluster.Compare(ctx, wanted) {
		found[keys[i]] = compared
	}
	return found
}

// corrects reports whether a change writes a release whose objects others have changed.
func (p *diffPreview) corrects(change comparedChange, observed release.Observed) bool {
	return change.wanted != nil && observed.Status == release.StatusDeployed && p.prior[change.key].Corrects(*change.wanted)
}

// withDrift adds what the comparison with the live objects has found to the sides of a change.
func (p *diffPreview) withDrift(preview *diff.Preview, change comparedChange, of sides) []sides {
	drift := change.drift
	if drift.Err != nil {
		p.expect()
		p.notRead(change, drift.Err)
		return []sides{of}
	}
	if len(drift.After) == 0 {
		return []sides{of}
	}
	preview.Notes = append(preview.Notes, "live objects differ from what was deployed")
	// The live objects are as the release has written them, apart from what others have changed.
	texts := diff.HCLSides{Before: of.texts.Before, After: of.texts.Before}
	return []sides{{before: drift.Before, after: drift.After, texts: texts}, of}
}
