package manifest

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// Kinds of objects that change what a cluster can do.
const (
	// CRDKind defines a kind.
	CRDKind = "CustomResourceDefinition"
	// APIServiceKind delegates an API group to a server in the cluster.
	APIServiceKind = "APIService"
)

// ChangesKinds reports whether an object of this kind changes what a cluster can do.
func ChangesKinds(kind string) bool { return kind == CRDKind || kind == APIServiceKind }

// Annotations returns the annotations of an object in a manifest. A null value counts as an empty
// text, as in Helm and API servers. GetAnnotations of the object returns no annotations at all
// then.
func Annotations(object *unstructured.Unstructured) map[string]string {
	annotations := map[string]string{}
	values, _, _ := unstructured.NestedFieldNoCopy(object.Object, "metadata", "annotations")
	fields, _ := values.(map[string]any)
	for key, value := range fields {
		text, isText := value.(string)
		if isText || value == nil {
			annotations[key] = text
		}
	}
	return annotations
}

// KeepCRDs makes Helm keep custom resource definitions when their release is uninstalled. Otherwise
// all resources of their kinds would be deleted with them (Fleet:
// internal/helmdeployer/postrender.go). It changes the objects.
func KeepCRDs(objects []*unstructured.Unstructured) {
	for _, object := range Flatten(objects) {
		if object.GetKind() != CRDKind {
			continue
		}
		annotations := Annotations(object)
		annotations[wellknown.ResourcePolicy] = wellknown.KeepPolicy
		object.SetAnnotations(annotations)
	}
}
