package release

import (
	"fmt"
	"strings"
)

// Place is where an object or a field is in a bundle.
type Place struct {
	// File is a file or a template, "" if it is not known.
	File string
	// Line is the line in a plain manifest, from 1, and 0 if it is not known.
	Line int
}

// String returns such as "web/deployment.yaml:7".
func (p Place) String() string {
	if p.Line == 0 {
		return p.File
	}
	file, _, _ := strings.Cut(p.File, " (document ") // The line says which document.
	return fmt.Sprintf("%s:%d", file, p.Line)
}

// UnknownField is a field that the type of a built-in kind lacks, such as a misspelt one.
type UnknownField struct {
	Place Place
	// Object is the kind and the name, and Field the path of the field.
	Object, Field string
}

func (f UnknownField) String() string {
	if f.Place.File == "" {
		return f.Object + ": " + f.Field
	}
	return f.Place.String() + ": " + f.Object + ": " + f.Field
}

// Kind is a kind in one API version.
type Kind struct{ APIVersion, Kind string }

func (k Kind) String() string { return k.APIVersion + " " + k.Kind }

// IsDefinable reports whether a custom resource definition or another API server can add the kind to
// a cluster. The groups of both contain a dot.
func (k Kind) IsDefinable() bool {
	group, _, _ := strings.Cut(k.APIVersion, "/")
	return strings.Contains(group, ".")
}

// Needs are what deployments need on a cluster besides their objects.
type Needs struct {
	Kinds      []Kind
	Namespaces []string
}
