package render

import (
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Open returns a deployment with its values decrypted, and its write-only input, for the request of a
// worker: no encoder writes secrets.
func Open(d target.Deployment) (target.Deployment, target.Content) {
	if d.Bundle.HasSecrets() && d.Options.Helm != nil {
		helm := *d.Options.Helm
		helm.Values = d.Bundle.PlainValues(helm.Values)
		d.Options.Helm = &helm
	}
	if d.WriteOnly == nil {
		return d, target.Content{}
	}
	return d, d.WriteOnly.Content.Reveal()
}
