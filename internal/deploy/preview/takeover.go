package preview

import (
	"context"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// compareTakenOver compares the changes that take something over from another owner with the live
// objects. The record of another owner is no base: a take-over does not merge with it. The other
// changes are returned.
func (p *diffPreview) compareTakenOver(
	ctx context.Context, cluster ObjectReader, snapshot release.Snapshot, changes []comparedChange,
) []comparedChange {
	var (
		taken  []comparedChange
		wanted []release.Comparison
	)
	others := slices.DeleteFunc(slices.Clone(changes), func(change comparedChange) bool {
		if !p.takesOver(change) {
			return false
		}
		taken = append(taken, change)
		wanted = append(wanted, release.Comparison{
			Namespace: change.wanted.Namespace, Rules: release.RulesOf(change.wanted.Options), Documents: change.rendering.Documents,
		})
		return true
	})
	if len(taken) == 0 {
		return others
	}
	for i, compared := range cluster.Compare(ctx, wanted) {
		p.addCompared(taken[i], snapshot, compared)
	}
	return others
}

// takesOver reports whether a change takes something over and is not in the state. The release of one in
// the state is merged with its own record.
func (p *diffPreview) takesOver(change comparedChange) bool {
	_, had := p.prior[change.key]
	return p.TakenOver[change.key] && change.wanted != nil && !had
}

// addCompared adds the comparison of one deployment.
func (p *diffPreview) addCompared(change comparedChange, snapshot release.Snapshot, compared release.Compared) {
	switch {
	case compared.Err != nil:
		p.expect()
		p.notRead(change, compared.Err)
		return
	case change.isNotRendered():
		p.notCompared(change, change.rendering.Irreproducible)
		return
	}
	p.noteObjects(change.key, compared)
	preview := diff.Preview{Kind: diff.Modified, Notes: append(change.notes(), "it is taken over, and compared with the live objects")}
	if change.wanted.HidesContent() || change.rendering.HidesContent {
		hideContent(&preview, "it can contain secret values")
	}
	// Another target can have written the live objects with texts from its own configuration.
	texts := diff.HCLSides{Before: diff.HCLText{All: true}, After: change.wanted.HCLText()}
	if observed := snapshot.Find(change.wanted.Namespace, change.wanted.Release); release.Exists(observed) && observed.Mark.OwnerText() == "" {
		texts.Before = diff.HCLText{}
	}
	p.add(change, preview, sides{before: compared.Before, after: compared.After, texts: texts})
}

// noteObjects notes which objects of a deployment exist, and which of them change.
func (p *diffPreview) noteObjects(key deploy.Key, compared release.Compared) {
	after := map[string]string{}
	for _, document := range compared.After {
		after[document.Key()] = document.Content
	}
	objects := make(map[string]bool, len(compared.Before))
	for _, document := range compared.Before {
		objects[document.Key()] = document.Content != after[document.Key()]
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report.TakenOver[key] = objects
}
