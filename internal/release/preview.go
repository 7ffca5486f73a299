package release

import "github.com/agentless-fleet/terraform-provider-fleet/internal/diff"

// Wanted are objects that a release is to contain and does not contain yet.
type Wanted struct {
	// Release and Namespace name the release. Former is the key of the release that it moves from
	// (see Key), "" if it does not move.
	Release, Namespace, Former string
	Objects                    []diff.Object
}

// ExistingObject is an object that already exists and that Helm does not count as part of the
// release that wants it.
type ExistingObject struct {
	Wanted Wanted
	Object diff.Object
	// Owner describes the owner of the object: "release x in namespace y", "Fleet's agent" or "no
	// release".
	Owner string
	// Release is the key of the release that has the object (see Key), "" for none.
	Release string
}

// Deployed is the content of a release record.
type Deployed struct {
	Documents []diff.Document
	// Values are the values that it was rendered with, as decoded JSON.
	Values any
	// Err is the reason why the record could not be read.
	Err error
}
