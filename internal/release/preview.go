package release

import "github.com/agentless-fleet/terraform-provider-fleet/internal/diff"

// Wanted are objects that a release is to hold and does not hold yet.
type Wanted struct {
	// Release and Namespace name the release, and Former the one it moves from, as Key, "" if it does not.
	Release, Namespace, Former string
	Objects                    []diff.Object
}

// ExistingObject is an object that is there already and that Helm does not count as part
// of the release that wants it.
type ExistingObject struct {
	Wanted Wanted
	Object diff.Object
	// Owner is who has it: "release x in namespace y", "Fleet's agent" or "no
	// release".
	Owner string
	// Release is the release that has it, as Key, "" for none.
	Release string
}

// Deployed is what a release record contains.
type Deployed struct {
	Documents []diff.Document
	// Values are those that it was rendered with, as decoded JSON.
	Values any
	// Err is why it could not be read.
	Err error
}
