package render

import (
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Values are the values of a deployment, decrypted, a copy that Helm may change. Write-only
// values are merged last: they win over values from the cluster, too.
func Values(d target.Deployment) map[string]any {
	values := d.Bundle.PlainValues(d.HelmOptions().Values)
	if d.WriteOnly != nil {
		values = fleetyaml.MergeValues(values, d.WriteOnly.Values)
	}
	return copyValues(values)
}

func copyValues(values map[string]any) map[string]any {
	copied := make(map[string]any, len(values))
	for key, value := range values {
		copied[key] = copyValue(value)
	}
	return copied
}

func copyValue(value any) any {
	switch value := value.(type) {
	case map[string]any:
		return copyValues(value)
	case []any:
		copied := make([]any, len(value))
		for i, item := range value {
			copied[i] = copyValue(item)
		}
		return copied
	}
	return value
}
