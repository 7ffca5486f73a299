package manifest

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// Documents returns the objects of a release and then its hooks, each with its content as JSON.
// namespace is the namespace of the release.
func Documents(objects, hooks []*unstructured.Unstructured, namespace string) ([]diff.Document, error) {
	made := make([]diff.Document, 0, len(objects)+len(hooks))
	for i, part := range [][]*unstructured.Unstructured{objects, hooks} {
		for _, object := range Flatten(part) {
			content, err := json.Marshal(object.Object)
			if err != nil {
				return nil, fmt.Errorf("writing %s %s: %w", object.GetKind(), object.GetName(), err)
			}
			made = append(made, diff.Document{
				Object: Identify(object, namespace), APIVersion: object.GetAPIVersion(), Hook: i == 1, Content: string(content),
			})
		}
	}
	return made, nil
}

// List returns the identities of objects with a hash of their content. namespace is the namespace
// of the release, for namespaced objects without one. For a Secret, digest is hashed instead of the
// content.
func List(objects []*unstructured.Unstructured, namespace, digest string) ([]diff.Object, error) {
	listed := make([]diff.Object, 0, len(objects))
	for _, object := range Flatten(objects) {
		content, err := json.Marshal(object.Object)
		if err != nil {
			return nil, fmt.Errorf("writing %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		identity := Identify(object, namespace)
		identity.Hash = release.ShortHash(content)
		if identity.Group == "" && identity.Kind == "Secret" {
			identity.Hash = release.ShortHash([]byte(digest))
		}
		listed = append(listed, identity)
	}
	return listed, nil
}

// HideContent replaces the hashes of all objects by a hash of digest, because any object can
// contain a value from a Secret.
func HideContent(listed []diff.Object, digest string) {
	for i := range listed {
		listed[i].Hash = release.ShortHash([]byte(digest))
	}
}

// GeneratedName is the suffix for a name that the API server will complete. No name of an object
// contains it.
const GeneratedName = diff.GeneratedName

// Identify returns the group, kind, namespace and name of an object, without a hash. namespace is
// the namespace of the release, for namespaced objects without one.
func Identify(object *unstructured.Unstructured, namespace string) diff.Object {
	kind := object.GroupVersionKind().GroupKind()
	identity := diff.Object{Group: kind.Group, Kind: kind.Kind, Namespace: object.GetNamespace(), Name: object.GetName()}
	if identity.Name == "" {
		identity.Name = object.GetGenerateName() + GeneratedName
	}
	switch {
	case IsClusterScoped(kind):
		identity.Namespace = ""
	case identity.Namespace == "":
		identity.Namespace = namespace
	}
	return identity
}

// IsClusterScoped reports whether a built-in kind has no namespace, so that a plan does not need
// the cluster. Kinds of other groups count as namespaced here; the cluster decides when they are
// applied.
func IsClusterScoped(kind schema.GroupKind) bool {
	switch kind.Group {
	case "":
		return kind.Kind == "Namespace" || kind.Kind == "Node" || kind.Kind == "PersistentVolume"
	case "rbac.authorization.k8s.io":
		return strings.HasPrefix(kind.Kind, "Cluster")
	case "storage.k8s.io":
		return kind.Kind != "CSIStorageCapacity"
	case "networking.k8s.io":
		return kind.Kind == "IngressClass" || kind.Kind == "IPAddress" || kind.Kind == "ServiceCIDR"
	case "resource.k8s.io":
		return kind.Kind == "DeviceClass" || kind.Kind == "ResourceSlice"
	case "certificates.k8s.io":
		return kind.Kind == "CertificateSigningRequest" || kind.Kind == "ClusterTrustBundle"
	case "apiextensions.k8s.io", "apiregistration.k8s.io", "admissionregistration.k8s.io",
		"scheduling.k8s.io", "node.k8s.io", "flowcontrol.apiserver.k8s.io":
		return true
	}
	return false
}
