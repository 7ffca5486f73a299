package render

import (
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Values returns the decrypted values of a deployment, as a copy that Helm may change. Write-only
// values are merged last: they override values from the cluster, too.
func Values(d target.Deployment) map[string]any {
	values := d.Bundle.PlainValues(d.HelmOptions().Values)
	if d.WriteOnly != nil {
		values = fleetyaml.MergeValues(values, d.WriteOnly.Values)
	}
	return fleetyaml.CopyValues(values)
}
