package helm

import (
	"fmt"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

const (
	// recordType is the type of the Secrets that are release records, and recordPrefix
	// the beginning of their names (pkg/storage/driver/secrets.go, pkg/storage/storage.go).
	recordType   = "helm.sh/release.v1"
	recordPrefix = "sh.helm.release.v1."
)

// ForbiddenRecordError says that a bundle contains a release record of Helm. Who writes one
// says what a release holds, and what is deleted with it.
type ForbiddenRecordError struct {
	Kind string
	// Object is the namespace, if it is known, and the name.
	Object string
}

func (e *ForbiddenRecordError) Error() string {
	return fmt.Sprintf("%s %s is a release record of Helm; a bundle must not contain one", e.Kind, e.Object)
}

// refuseRecords returns a *ForbiddenRecordError if one of these objects is a release record.
func refuseRecords(objects []*unstructured.Unstructured, namespace string) error {
	for _, object := range flatten(objects) {
		if isRecord(object.GroupVersionKind().GroupKind(), object) {
			return recordError(object.GetKind(), object, namespace)
		}
	}
	return nil
}

// refuseBuiltRecords is refuseRecords for objects as they are sent to an API server. It
// goes by the kinds that the server has: a manifest can leave the API version out.
func refuseBuiltRecords(objects []*resource.Info) error {
	for _, info := range objects {
		kind := info.Mapping.GroupVersionKind
		if object, ok := info.Object.(*unstructured.Unstructured); ok && isRecord(kind.GroupKind(), object) {
			return recordError(kind.Kind, object, info.Namespace)
		}
	}
	return nil
}

func recordError(kind string, object *unstructured.Unstructured, namespace string) error {
	name := object.GetName()
	if name == "" {
		name = object.GetGenerateName() + generated
	}
	if own := object.GetNamespace(); own != "" {
		namespace = own
	}
	return &ForbiddenRecordError{Kind: kind, Object: release.Key(namespace, name)}
}

// isRecord knows what Helm takes for a release record: it lists them by their label, reads
// single ones by their name, and gives them their type.
func isRecord(kind schema.GroupKind, object *unstructured.Unstructured) bool {
	switch {
	case kind != schema.GroupKind{Kind: "Secret"} && kind != schema.GroupKind{Kind: "ConfigMap"}:
		return false
	case strings.HasPrefix(object.GetName(), recordPrefix), strings.HasPrefix(object.GetGenerateName(), recordPrefix):
		return true
	}
	// Not GetLabels, which has none where one of them is null.
	owner, _, _ := unstructured.NestedFieldNoCopy(object.Object, "metadata", "labels", labelOwner)
	return owner == helmOwner || kind.Kind == "Secret" && object.Object["type"] == recordType
}

// NotADefinitionError says that the folder crds/ of a bundle which must stay in one
// namespace holds something else than custom resource definitions. Helm makes what is in
// that folder as it is, in any namespace.
type NotADefinitionError struct {
	Kind, Name, File, Namespace string
}

func (e *NotADefinitionError) Error() string {
	return fmt.Sprintf("%s: %s %s is no custom resource definition, but the bundle is restricted to namespace %s; "+
		"move it to templates/, or use defaultNamespace instead of namespace", e.File, e.Kind, e.Name, e.Namespace)
}

// checkCRDs looks at what Helm makes before it stores a release: what is below crds/, which
// can be objects of any kind.
func checkCRDs(c *chart.Chart, d target.Deployment) error {
	for _, crd := range c.CRDObjects() {
		objects, err := documents(crd.File.Data)
		if err != nil && d.Options.Namespace != "" {
			return fmt.Errorf("reading %s: %w", crd.Filename, err)
		}
		if err != nil {
			continue // An API server says what is wrong with it.
		}
		if err := refuseRecords(objects, d.Namespace); err != nil {
			return err
		}
		for _, object := range flatten(objects) {
			if d.Options.Namespace != "" && object.GetKind() != crdKind {
				return &NotADefinitionError{Kind: object.GetKind(), Name: object.GetName(), File: crd.Filename, Namespace: d.Namespace}
			}
		}
	}
	return nil
}

// refuseRecordHooks looks at the hooks of a release.
func refuseRecordHooks(hooks []*helmrelease.Hook, namespace string) error {
	for _, hook := range hooks {
		objects, err := documents([]byte(hook.Manifest))
		if err != nil {
			return fmt.Errorf("reading the hook %s: %w", hook.Path, err)
		}
		if err := refuseRecords(objects, namespace); err != nil {
			return err
		}
	}
	return nil
}
