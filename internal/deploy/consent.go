package deploy

import (
	"github.com/agentless-fleet/terraform-provider-fleet/internal/policy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Consent selects the deployments that may take over releases and objects of others.
type Consent struct {
	// All selects every deployment.
	All bool
	// Of are patterns of further deployments.
	Of policy.Deployments
}

// To reports whether a deployment may take over what others have.
func (c Consent) To(key Key) bool { return c.All || c.Of.Match(key.String()) }

// Releases returns the releases of deployments that may take over what others have.
func (c Consent) Releases(of []target.Deployment) map[string]bool {
	releases := map[string]bool{}
	for _, d := range of {
		if c.To(KeyOf(d)) {
			releases[ReleaseOn(d.Cluster, d.Namespace, d.Release)] = true
		}
	}
	return releases
}
