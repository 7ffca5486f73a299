// Package bundle turns a folder of a file system into a Bundle: its name, its files, its options
// and a digest. Equal bundles have equal digests.
package bundle

import (
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
)

// Bundle is the unit of delivery: one Helm release on one cluster is made from it. A Bundle is
// never changed once it has been read; it is shared between goroutines.
type Bundle struct {
	// Name is unique among the bundles of a target, a DNS label of at most 53 characters unless
	// fleet.yaml sets another name.
	Name string
	// Path is the folder in its source, slash separated, "." for the root.
	Path string
	// Definition is the content of fleet.yaml, with the settings of the GitRepo applied, and with
	// values files merged into the values.
	Definition fleetyaml.Definition
	// Files are sorted by name. Charts that are kept elsewhere are added with Add; until then,
	// the digests are empty.
	Files []File
	// Content is a digest of Name and Files, without Definition: an option for one cluster must
	// not change the release on another.
	Content string
	// Digest covers Name, Files and Definition. Equal digests mean equal bundles, on any machine
	// and from any commit.
	Digest string

	// DefinitionFile is the file of the definition, "" if the definition was passed to New.
	DefinitionFile string

	// HCL describes which parts of the bundle are in a Terraform configuration. No digest covers
	// it.
	HCL HCL `json:"-"`

	// Decrypted are the decrypted parts of the bundle, nil if there are none. They are written
	// nowhere.
	Decrypted secret.Of[*Decrypted] `json:"-"`
}

// Spelling returns how texts name the options of the bundle.
func (b Bundle) Spelling() fleetyaml.Spelling { return spellingIn(b.DefinitionFile) }

// spellingIn returns how texts name options of a definition in a file, "" for one that was passed to New.
func spellingIn(file string) fleetyaml.Spelling {
	if file == "" {
		return fleetyaml.AsHCL
	}
	return fleetyaml.AsFleetYAML
}

// Labels returns the labels of the bundle, never nil. They must not be changed.
func (b Bundle) Labels() map[string]string {
	if b.Definition.Labels == nil {
		return map[string]string{}
	}
	return b.Definition.Labels
}

// File is one file of a bundle.
type File struct {
	// Name is slash separated and relative to the bundle's folder.
	Name    string
	Content []byte
}
