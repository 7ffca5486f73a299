package manifest

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

const (
	// MaxRecord is how large the data of a Secret may be (k8s.io/api/core/v1,
	// MaxSecretSize). A release record is one Secret with the whole chart, the values
	// and the manifest.
	MaxRecord = 1 << 20
	// MaxSize is the maximum size in bytes of the manifest of a release and its hooks. Reading them
	// as YAML takes fifty times as much memory, and two seconds for each MiB.
	MaxSize = 16 << 20
)

// ForbiddenRecordError reports that a bundle contains a release record of Helm. A release record
// determines what a release contains, and what is deleted with it.
type ForbiddenRecordError struct {
	Kind string
	// Object is the namespace, if it is known, and the name.
	Object string
}

func (e *ForbiddenRecordError) Error() string {
	return fmt.Sprintf("%s %s is a release record of Helm; a bundle must not contain one", e.Kind, e.Object)
}

// RefuseRecords returns a *ForbiddenRecordError if one of these objects is a release record.
func RefuseRecords(objects []*unstructured.Unstructured, namespace string) error {
	for _, object := range Flatten(objects) {
		if err := RefuseRecord(object.GroupVersionKind().GroupKind(), object, namespace); err != nil {
			return err
		}
	}
	return nil
}

// RefuseRecord returns a *ForbiddenRecordError if an object is a release record. kind is the kind
// that the API server has for the object.
func RefuseRecord(kind schema.GroupKind, object *unstructured.Unstructured, namespace string) error {
	if !isRecord(kind, object) {
		return nil
	}
	of := Identify(object, namespace)
	return &ForbiddenRecordError{Kind: kind.Kind, Object: release.Key(of.Namespace, of.Name)}
}

// isRecord reports whether Helm treats an object as a release record. Helm lists records by their
// label, reads a single record by its name, and sets their type.
func isRecord(kind schema.GroupKind, object *unstructured.Unstructured) bool {
	switch {
	case kind != schema.GroupKind{Kind: "Secret"} && kind != schema.GroupKind{Kind: "ConfigMap"}:
		return false
	case strings.HasPrefix(object.GetName(), wellknown.RecordPrefix), strings.HasPrefix(object.GetGenerateName(), wellknown.RecordPrefix):
		return true
	}
	// GetLabels is not used, because it returns no labels if one of them is null.
	owner, _, _ := unstructured.NestedFieldNoCopy(object.Object, "metadata", "labels", wellknown.RecordOwner)
	return owner == wellknown.RecordOwnerHelm || kind.Kind == "Secret" && object.Object["type"] == wellknown.RecordType
}
