package helm

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// documents splits YAML or JSON into objects. Documents that are empty or lack
// a kind or an API version are left out, as Fleet does.
func documents(content []byte) ([]*unstructured.Unstructured, error) {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	var objects []*unstructured.Unstructured
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("splitting YAML documents: %w", err)
		}
		content, err := decode(document)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", len(objects)+1, err)
		}
		object := &unstructured.Unstructured{Object: content}
		if object.GetKind() == "" || object.GetAPIVersion() == "" {
			continue
		}
		objects = append(objects, object)
	}
}

// decode reads one YAML or JSON document. Whole numbers stay whole, however
// large.
func decode(document []byte) (map[string]any, error) {
	asJSON, err := yaml.YAMLToJSON(document)
	if err != nil {
		return nil, err
	}
	var content map[string]any
	if err := utiljson.Unmarshal(asJSON, &content); err != nil {
		return nil, err
	}
	return content, nil
}

// flatten puts the objects of lists in place of the lists, as Helm does when it makes
// them. It is not done where documents are read: by the annotations of a document Helm
// tells hooks, and what is inside a list is none.
func flatten(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	flat := make([]*unstructured.Unstructured, 0, len(objects))
	for _, object := range objects {
		items, isList := object.Object["items"].([]any)
		if !isList || slices.ContainsFunc(items, isNoObject) {
			flat = append(flat, object) // An API server says what is wrong with it.
			continue
		}
		members := make([]*unstructured.Unstructured, len(items))
		for i, item := range items {
			content, _ := item.(map[string]any)
			members[i] = &unstructured.Unstructured{Object: content}
			if members[i].GetKind() == "" && members[i].GetAPIVersion() == "" {
				members[i].SetAPIVersion(object.GetAPIVersion())
				members[i].SetKind(strings.TrimSuffix(object.GetKind(), "List"))
			}
		}
		flat = append(flat, flatten(members)...)
	}
	return flat
}

func isNoObject(item any) bool {
	_, ok := item.(map[string]any)
	return !ok
}

// rawManifest checks a file of a raw bundle and leaves out what is no object.
func rawManifest(file bundle.File) ([]byte, error) {
	objects, err := documents(file.Content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file.Name, err)
	}
	if len(objects) == 0 {
		return nil, nil
	}
	manifest, err := join(objects)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file.Name, err)
	}
	return []byte(manifest), nil
}

// join writes objects as one YAML stream.
func join(objects []*unstructured.Unstructured) (string, error) {
	var stream strings.Builder
	for _, object := range objects {
		document, err := yaml.Marshal(object.Object)
		if err != nil {
			return "", fmt.Errorf("writing %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		stream.WriteString("---\n")
		stream.Write(document)
	}
	return stream.String(), nil
}

// objects lists what a manifest holds. namespace is that of the release, where
// objects without one go. Secrets show digest in place of a hash of their
// content.
func objects(manifest, namespace, digest string) ([]release.Object, error) {
	parsed, err := documents([]byte(manifest))
	if err != nil {
		return nil, fmt.Errorf("reading the rendered manifest: %w", err)
	}
	return listObjects(parsed, namespace, digest)
}

func listObjects(objects []*unstructured.Unstructured, namespace, digest string) ([]release.Object, error) {
	listed := make([]release.Object, 0, len(objects))
	for _, object := range flatten(objects) {
		content, err := json.Marshal(object.Object)
		if err != nil {
			return nil, fmt.Errorf("writing %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		identity := identify(object, namespace)
		identity.Hash = release.ShortHash(content)
		if identity.Group == "" && identity.Kind == "Secret" {
			identity.Hash = release.ShortHash([]byte(digest))
		}
		listed = append(listed, identity)
	}
	return listed, nil
}

// hide shows digest in place of the content of all objects: what came out of a
// Secret can stand in any of them.
func hide(listed []release.Object, digest string) {
	for i := range listed {
		listed[i].Hash = release.ShortHash([]byte(digest))
	}
}

// generated ends the name of an object that the cluster will name. No name can hold it.
const generated = "*"

func identify(object *unstructured.Unstructured, namespace string) release.Object {
	kind := object.GroupVersionKind().GroupKind()
	identity := release.Object{Group: kind.Group, Kind: kind.Kind, Namespace: object.GetNamespace(), Name: object.GetName()}
	if identity.Name == "" {
		identity.Name = object.GetGenerateName() + generated
	}
	switch {
	case isClusterScoped(kind):
		identity.Namespace = ""
	case identity.Namespace == "":
		identity.Namespace = namespace
	}
	return identity
}

// isClusterScoped knows the built-in kinds that have no namespace, so that a
// plan can tell without asking a cluster. Kinds of other groups count as
// namespaced here; the cluster has the last word when they are applied.
func isClusterScoped(kind schema.GroupKind) bool {
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
