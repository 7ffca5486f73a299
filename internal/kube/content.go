package kube

import (
	"encoding/base64"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// contentOf returns the part of an object that is compared. Fields that controllers write on every
// object of a kind, and the label of Helm, are left out. Values in its fields belong to the object.
func contentOf(object *unstructured.Unstructured) map[string]any {
	content := maps.Clone(object.Object)
	delete(content, "status")
	metadata := map[string]any{}
	if labels := object.GetLabels(); len(labels) > 0 {
		delete(labels, wellknown.ManagedBy)
		metadata["labels"] = anyValues(labels)
	}
	if annotations := object.GetAnnotations(); len(annotations) > 0 {
		metadata["annotations"] = anyValues(annotations)
	}
	content["metadata"] = metadata
	switch kind := object.GroupVersionKind(); {
	case isSecret(object):
		decodeSecret(content)
	case kind.Group == "rbac.authorization.k8s.io" && kind.Kind == "ClusterRole" && content["aggregationRule"] != nil:
		delete(content, "rules") // A controller aggregates them.
	case hasCABundles.Has(kind.Kind):
		content = runtime.DeepCopyJSON(content)
		withoutCABundles(content)
	}
	return content
}

// hasCABundles are the kinds in which a controller sets certificates.
var hasCABundles = sets.New( //nolint:gochecknoglobals // a constant set
	"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "CustomResourceDefinition", "APIService",
)

func withoutCABundles(value any) {
	switch value := value.(type) {
	case map[string]any:
		if _, ok := value["caBundle"].(string); ok {
			delete(value, "caBundle")
		}
		for _, field := range value {
			withoutCABundles(field)
		}
	case []any:
		for _, item := range value {
			withoutCABundles(item)
		}
	}
}

func anyValues(texts map[string]string) map[string]any {
	values := make(map[string]any, len(texts))
	for key, text := range texts {
		values[key] = text
	}
	return values
}

func isSecret(object *unstructured.Unstructured) bool {
	return object.GetKind() == "Secret" && object.GetAPIVersion() == "v1"
}

// decodeSecret moves stringData into data, as the server does, and decodes data. Two notations of
// the same value are then equal.
func decodeSecret(secret map[string]any) {
	decoded := map[string]any{}
	data, _ := secret["data"].(map[string]any)
	for key, value := range data {
		text, ok := value.(string)
		if !ok {
			continue
		}
		content, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
		if err != nil {
			decoded[key] = text
			continue
		}
		decoded[key] = string(content)
	}
	written, _ := secret["stringData"].(map[string]any)
	for key, value := range written {
		if text, ok := value.(string); ok {
			decoded[key] = text
		}
	}
	delete(secret, "stringData")
	delete(secret, "data")
	if len(decoded) > 0 {
		secret["data"] = decoded
	}
}
