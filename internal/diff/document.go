package diff

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

// Key is how an object is called in state and messages: its kind with its group, as in
// kubectl, its namespace if it has one, and its name. Examples: "Deployment.apps/web/nginx",
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

// Document is one object of a release with all that is in it, secrets too: only
// Compare makes text of it.
type Document struct {
	Object

	// Hook says that Helm runs it beside the release and that it is no part of the
	// manifest.
	Hook bool
	// Content is the object as JSON.
	Content string
	// Place is the template or the file that the object comes from, "" if that is not known.
	Place string
}
