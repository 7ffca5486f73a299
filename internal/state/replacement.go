package state

import "github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"

// ReplacementMarker is what the plan of a create stores for a Delete that may run before the
// create. Terraform replaces a tainted target by Delete and Create. A target is tainted if one of
// its deployments failed in the first apply. That Delete must not uninstall what Create wants:
// Create adopts it.
type ReplacementMarker struct {
	Planned bool `json:"planned"`
	// Target is the name of the target that is created.
	Target string `json:"target,omitempty"`
	// Wanted are the releases that Create wants, as namespace/name by the key of the deployment. If
	// a release has another namespace or name now, Create moves it.
	Wanted map[string]string `json:"releases,omitempty"`
	// Unknown is true if the wanted releases are not known yet, so that any release may be wanted.
	Unknown bool `json:"unknown,omitempty"`
}

// Removals returns the deployments that a Delete has to remove.
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
