package release

import (
	"errors"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
)

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

// Claimed is a release in relation to the target that has it or wants it.
type Claimed struct {
	Observed Observed
	By       Claimant
}

// ErrRecordChanged reports that the content of a proven record is not the one that was written. No
// upgrade is merged from it.
var ErrRecordChanged = errors.New("somebody changed the content of its release record, and the apply writes it again")

// Deployed is what an upgrade of a release is merged from.
type Deployed struct {
	// Documents are the objects of Revisions together, and the hooks of the newest.
	Documents []diff.Document
	// Revisions are those of Base that are proven, newest first. The newest is always the first.
	Revisions []Revision
	// Err is the reason why the record could not be read.
	Err error
}

// Revision is one revision of a release.
type Revision struct {
	Mark Mark
	// Values are the values that it was rendered with, as decoded JSON.
	Values any
}

// OwnValues reports whether all revisions were rendered with the values of their deployments alone.
func (d Deployed) OwnValues() bool {
	return !slices.ContainsFunc(d.Revisions, func(revision Revision) bool { return !revision.Mark.UninstallPolicy.OwnValues })
}

// Comparison is a release whose objects are compared with the live ones.
type Comparison struct {
	// Namespace is that of the release.
	Namespace string
	Rules     Rules
	// Documents are the wanted objects and hooks. Hooks are not compared.
	Documents []diff.Document
	// Wrote is the release that has written the documents. Then only drift is a difference, as
	// Finding has it. It is nil for a take-over.
	Wrote *Inspection
}

// Compared are the objects of a Comparison. Before has the wanted fields as the live objects have
// them: a write changes no others. An object that does not exist is in After only.
type Compared struct {
	Before, After []diff.Document
	// Err is the reason why the objects could not be read.
	Err error
}
