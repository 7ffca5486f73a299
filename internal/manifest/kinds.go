package manifest

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// Kinds of objects that change what a cluster can do.
const (
	// CRDKind defines a kind.
	CRDKind = "CustomResourceDefinition"
	// APIServiceKind hands a group of APIs to a server in the cluster.
	APIServiceKind = "APIService"
)

// ChangesKinds reports whether an object of this kind changes what a cluster can do.
func ChangesKinds(kind string) bool { return kind == CRDKind || kind == APIServiceKind }

// Annotation and value of objects that Helm leaves where they are when it no longer has them
// (helm.sh/helm/v3, pkg/kube/resource_policy.go).
const (
	resourcePolicy = "helm.sh/resource-policy"
	keepPolicy     = "keep"
)

// KeepCRDs makes Helm leave custom resource definitions where they are when their release is
// uninstalled: all resources of their kinds would be deleted with them (Fleet:
// internal/helmdeployer/postrender.go). It changes the objects.
func KeepCRDs(objects []*unstructured.Unstructured) {
	for _, object := range Flatten(objects) {
		if object.GetKind() != CRDKind {
			continue
		}
		annotations := object.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[resourcePolicy] = keepPolicy
		object.SetAnnotations(annotations)
	}
}
