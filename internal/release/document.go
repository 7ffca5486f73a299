package release

// Document is one object of a release with all that stands in it, secrets too: only
// Compare makes text of it.
type Document struct {
	Object

	// Hook says that Helm runs it beside the release and that it is no part of the
	// manifest.
	Hook bool
	// Content is the object as JSON.
	Content string
}
