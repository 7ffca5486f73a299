package state

import "github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"

// ReplacementMarker is what the plan of a create leaves for the Delete that may come before
// it. Terraform replaces a tainted target by Delete and Create, and a target is tainted
// whenever one of its deployments failed at first. That Delete must not uninstall what Create
// wants: Create adopts it.
type ReplacementMarker struct {
	Planned bool `json:"planned"`
	// Target is the name of the target that is created.
	Target string `json:"target,omitempty"`
	// Wanted are the releases that Create wants, as namespace/name by the key of the
	// deployment. One that is elsewhere now is Create's to move.
	Wanted map[string]string `json:"releases,omitempty"`
	// Unknown says that they are not known yet, so that any may be wanted.
	Unknown bool `json:"unknown,omitempty"`
}

// Removals are the deployments that a Delete has to remove.
func (m ReplacementMarker) Removals(records map[deploy.Key]deploy.Record) []deploy.Key {
	var removals []deploy.Key
	for key := range records {
		_, wanted := m.Wanted[key.String()]
		if m.Planned && (wanted || m.Unknown) {
			continue
		}
		removals = append(removals, key)
	}
	return removals
}
