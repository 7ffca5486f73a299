package render

import "github.com/agentless-fleet/terraform-provider-fleet/internal/target"

// Values are the values of a deployment, decrypted, a copy that Helm may change.
func Values(d target.Deployment) map[string]any {
	return copyValues(d.Bundle.PlainValues(d.HelmOptions().Values))
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
