package diff

import "strings"

// Object is one rendered object of a release.
type Object struct {
	Group     string
	Kind      string
	Namespace string
	Name      string
	// Hash is a short hash of the object's content, or a replacement for objects whose content must
	// stay hidden.
	Hash string
}

// Key returns the name of an object in state and messages: its kind with its group, as in kubectl,
// its namespace if it has one, and its name. Examples: "Deployment.apps/web/nginx",
// "Service/web/nginx", "Namespace/web".
func (o Object) Key() string {
	kind := o.Kind
	if o.Group != "" {
		kind += "." + o.Group
	}
	if o.Namespace == "" {
		return kind + "/" + o.Name
	}
	return kind + "/" + o.Namespace + "/" + o.Name
}

// GeneratedName is the suffix for a name that the API server will complete. No name of an object
// contains it.
const GeneratedName = "*"

// IsGenerated reports whether the API server generates the name of the object.
func (o Object) IsGenerated() bool { return strings.HasSuffix(o.Name, GeneratedName) }

// ParseKey returns the object with a key, without a hash.
func ParseKey(key string) Object {
	kind, place, _ := strings.Cut(key, "/")
	object := Object{Name: place}
	object.Kind, object.Group, _ = strings.Cut(kind, ".")
	if namespace, name, namespaced := strings.Cut(place, "/"); namespaced {
		object.Namespace, object.Name = namespace, name
	}
	return object
}

// Document is one object of a release with its whole content, secrets included. Only Compare and
// CompareHiding make text of it.
type Document struct {
	Object

	// APIVersion is the API version that the object is written in.
	APIVersion string
	// Hook is true if Helm runs the object as a hook, outside the manifest.
	Hook bool
	// Content is the object as JSON.
	Content string
	// Place is the template or the file of the object, "" if that is not known.
	Place string
}
