package manifest

import (
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Flatten replaces lists by their members, as Helm does when it creates them, and leaves no field
// in which a reader could find further objects. Objects of ParseAll are not changed otherwise; of
// what others have written, such as a record, members that are no objects and other spellings of
// fields are left out. Documents are not flattened when they are read: Helm recognizes a hook by
// the annotations of a document, so an object in a list is no hook.
func Flatten(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	flat := make([]*unstructured.Unstructured, 0, len(objects))
	for _, object := range objects {
		items, isList := object.Object[itemsField].([]any)
		switch {
		case isList:
			flat = append(flat, Flatten(membersOf(object, items))...)
		case missingIn(object) != "":
		case isCanonical(object):
			flat = append(flat, object)
		default:
			flat = append(flat, &unstructured.Unstructured{Object: withoutSurplus(object.Object)})
		}
	}
	return flat
}

// membersOf returns the objects in a list. One without a kind gets that of the list.
func membersOf(list *unstructured.Unstructured, items []any) []*unstructured.Unstructured {
	members := make([]*unstructured.Unstructured, 0, len(items))
	for _, item := range items {
		content, isObject := item.(map[string]any)
		if !isObject {
			continue
		}
		member := &unstructured.Unstructured{Object: content}
		if member.GetKind() == "" && member.GetAPIVersion() == "" {
			member.SetAPIVersion(list.GetAPIVersion())
			member.SetKind(strings.TrimSuffix(list.GetKind(), "List"))
		}
		members = append(members, member)
	}
	return members
}

// withoutSurplus returns a copy of an object without what makes it ambiguous.
func withoutSurplus(object map[string]any) map[string]any {
	object = runtime.DeepCopyJSON(object)
	deleteOtherSpellings(object, objectFields())
	delete(object, itemsField)
	metadata, isMap := object[metadataField].(map[string]any)
	if !isMap {
		delete(object, metadataField)
		return object
	}
	deleteOtherSpellings(metadata, metadataFields())
	for _, field := range metadataFields() {
		if metadataFieldError(field, metadata[field]) != "" {
			delete(metadata, field)
		}
	}
	for _, field := range []string{"labels", "annotations"} {
		texts, _ := metadata[field].(map[string]any)
		maps.DeleteFunc(texts, func(_ string, value any) bool {
			_, isText := value.(string)
			return !isText && value != nil
		})
	}
	return object
}

func deleteOtherSpellings(object map[string]any, fields []string) {
	maps.DeleteFunc(object, func(key string, _ any) bool { return otherSpelling(key, fields) != "" })
}
