package preview

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/immutable"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// ImmutableChange is an object of a deployment whose immutable fields a plan changes.
type ImmutableChange struct {
	Key    deploy.Key
	Change immutable.Change
	// Replaces is true if the apply deletes the object and creates it again. Otherwise the apply
	// fails.
	Replaces bool
}

// addImmutable notes the immutable fields that a change of a deployment changes.
func (p *diffPreview) addImmutable(change comparedChange, before []diff.Document) {
	var found []ImmutableChange
	for _, changed := range immutableChanges(before, change.rendering) {
		replaces := change.wanted.ReplacesObjects() && immutable.IsReplaceable(changed.Kind())
		found = append(found, ImmutableChange{Key: change.key, Change: changed, Replaces: replaces})
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report.Immutable = append(p.report.Immutable, found...)
}

// sorted sorts the parts of a report, whichever cluster has responded first.
func (r DiffReport) sorted() DiffReport {
	slices.SortFunc(r.Immutable, func(a, b ImmutableChange) int {
		return cmp.Or(cmp.Compare(a.Change.Object, b.Change.Object), cmp.Compare(a.Key.String(), b.Key.String()))
	})
	return r
}

// immutableChanges compares the objects of a release with its next ones, as far as their content is
// known. Hooks are created again anyway.
func immutableChanges(before []diff.Document, rendering release.Rendering) []immutable.Change {
	former := map[string]diff.Document{}
	for _, document := range before {
		former[document.Key()] = document
	}
	var changes []immutable.Change
	for _, document := range rendering.Documents {
		key := document.Key()
		past, had := former[key]
		isCompared := had && !document.Hook && !past.Hook && !rendering.Varying[key] && past.Content != document.Content
		if !isCompared || !immutable.Has(immutable.KindOfKey(key)) {
			continue
		}
		var old, wanted map[string]any
		if json.Unmarshal([]byte(past.Content), &old) != nil || json.Unmarshal([]byte(document.Content), &wanted) != nil {
			continue // The comparison of the objects reports it.
		}
		if fields := immutable.Fields(old, old, wanted); len(fields) > 0 {
			changes = append(changes, immutable.Change{Object: key, Fields: fields})
		}
	}
	return changes
}
