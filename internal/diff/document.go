package diff

import "strings"

// Object is one rendered object of a release.
type Object struct {
	Group     string
	Kind      string
	Namespace string
	Name      string
	// Hash is a short hash of the object's content, or what is in its
	// place for objects whose content must not show.
	Hash string
}

// Key is how an object is called in state and messages, its parts joined by
// slashes where there are any: "apps/Deployment/web/nginx", "Service/web/nginx",
// "Namespace/web".
func (o Object) Key() string {
	parts := make([]string, 0, 4)
	for _, part := range []string{o.Group, o.Kind, o.Namespace, o.Name} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "/")
}

// Document is one object of a release with all that is in it, secrets too: only
// Compare makes text of it.
type Document struct {
	Object

	// Hook says that Helm runs it beside the release and that it is no part of the
	// manifest.
	Hook bool
	// Content is the object as JSON.
	Content string
}
