// Package bundle turns a folder of a file system into a Bundle: its name, its
// files, its options and a digest that says whether two of them are the same.
package bundle

import (
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// Bundle is the unit of delivery: what one Helm release on one cluster is made
// from. A Bundle is never changed once it has been read; it is shared between
// goroutines.
type Bundle struct {
	// Name is unique among the bundles of a target, a DNS label of at most 53
	// characters unless fleet.yaml names it otherwise.
	Name string
	// Path is the folder in its source, slash separated, "." for the root.
	Path string
	// Definition is what fleet.yaml says, with the settings of the GitRepo laid
	// on it and with values files merged into the values they belong to.
	Definition fleetyaml.Definition
	// Files are sorted by name. Charts kept elsewhere are among them once they were
	// added; without them the digests are empty.
	Files []File
	// Content covers the name and Files, and nothing of Definition: what the
	// definition says of one cluster must not move a release on another.
	Content string
	// Digest covers Files and Definition. Equal digests mean equal bundles, on
	// any machine and whatever commit they were read from.
	Digest string

	// DefinitionFile is where the definition was read, "" if it was given.
	DefinitionFile string

	// HCL is what of it stands in a Terraform configuration. No digest covers it.
	HCL HCL `json:"-"`

	// Secrets are what was decrypted of it, nil if nothing was. They are written nowhere.
	Secrets *Secrets `json:"-"`
}

// File is one file of a bundle.
type File struct {
	// Name is slash separated and relative to the bundle's folder.
	Name    string
	Content []byte
}
