package immutable

import (
	"fmt"
	"slices"
	"strings"
)

// Change is an object whose immutable fields an update changes.
type Change struct {
	// Object is the key of the object, such as "Job.batch/web/migrate".
	Object string
	Fields []string
}

// String returns a text such as "Job.batch/web/migrate: spec.template".
func (c Change) String() string { return c.Object + ": " + strings.Join(c.Fields, ", ") }

// Kind returns the kind of the object, such as "Job.batch".
func (c Change) Kind() string { return KindOfKey(c.Object) }

// KindOfKey returns the kind in the key of an object.
func KindOfKey(key string) string {
	kind, _, _ := strings.Cut(key, "/")
	return kind
}

// isReplaceable reports whether the object may be deleted and created again.
func (c Change) isReplaceable() bool { return IsReplaceable(c.Kind()) }

// Error reports an update that would change immutable fields. Nothing of it was written.
type Error struct {
	Changes []Change
}

func (e *Error) Error() string {
	const named = 5
	texts := make([]string, 0, named)
	for _, change := range e.Changes[:min(named, len(e.Changes))] {
		texts = append(texts, change.String())
	}
	if more := len(e.Changes) - named; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return "no update can change these fields: " + strings.Join(texts, "; ")
}

// WaysOut returns what a user can do about changes that fail.
func WaysOut(changes []Change) string {
	text := "Restore the former values, or give the objects other names. "
	if slices.ContainsFunc(changes, Change.isReplaceable) {
		text = "To delete these objects and create them again, set helm.force = true in the bundle. " +
			"Or restore the former values, or give the objects other names. "
	}
	if slices.ContainsFunc(changes, func(c Change) bool { return !c.isReplaceable() }) {
		text += "helm.force never deletes volumes, claims of volumes and custom resource definitions, because data would be lost. "
	}
	return strings.TrimSpace(text)
}
