// Package release compares the release that is wanted with the release that is
// there and says what to do.
package release

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
)

// Status is the state of a release record as Helm writes it.
type Status string

// The states of a Helm release record that can be its newest.
const (
	StatusDeployed        Status = "deployed"
	StatusFailed          Status = "failed"
	StatusSuperseded      Status = "superseded"
	StatusUninstalled     Status = "uninstalled"
	StatusUninstalling    Status = "uninstalling"
	StatusPendingInstall  Status = "pending-install"
	StatusPendingUpgrade  Status = "pending-upgrade"
	StatusPendingRollback Status = "pending-rollback"
	StatusUnknown         Status = "unknown"
)

// Observed is the newest record of one release on one cluster, as far as its
// metadata tells.
type Observed struct {
	Release   string
	Namespace string
	Revision  int
	Status    Status
	// Mark is what this provider wrote on the record, zero for a record of
	// somebody else.
	Mark Mark
}

// Exists distinguishes a release from none, and from the history that an uninstall can leave.
func Exists(observed *Observed) bool {
	return observed != nil && observed.Status != StatusUninstalled
}

// Mark says who made a revision of a release and from what. It travels as
// labels of the release record; NewMark makes its fields legal label values.
type Mark struct {
	// Owner and Target are the provider's owner and the target's name.
	Owner  string
	Target string
	// Instance is the random id of the target that owns the release.
	Instance string
	// KnownAs is the id that state saw on the record, if it is another than Instance, as
	// after an import. No record has it: the next mark has the target's own id.
	KnownAs string
	// AdoptionKey is a hash of the target's adoption key, "" if it has none.
	AdoptionKey string
	Bundle      string
	// Digest is that of the deployment.
	Digest string
	// UninstallPolicy say how the release is handled when it goes.
	UninstallPolicy UninstallPolicy
	// Text says where the text of its objects came from.
	Text TextOrigin
	// Revision is the revision this mark was written for. Helm copies labels
	// to revisions made by others, so a mark counts only for its own revision.
	Revision int
}

// NewMark makes the mark of a deployment. Names that are not legal label values
// are stored as hashes, such as "sha256-9f86d081884c7d659a2feaa0c55ad015". An instance that
// is not known yet stays "".
func NewMark(owner, target, instance, bundle, digest string) Mark {
	made := Mark{
		Owner:  labelValue(owner),
		Target: labelValue(target),
		Bundle: labelValue(bundle),
		Digest: labelValue(digest),
	}
	if instance != "" {
		made.Instance = labelValue(instance)
	}
	return made
}

// AdoptionKey is the form of an adoption key on a record: a hash over owner and key in
// 32 hexadecimal digits, "" for no key. A reader of the record does not learn the key.
func AdoptionKey(owner, key string) string {
	if key == "" {
		return ""
	}
	sum := sha256.Sum256([]byte("adoption key\n" + strconv.Quote(owner) + "\n" + key))
	return hex.EncodeToString(sum[:16])
}

var labelPattern = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$`)

func labelValue(text string) string {
	if labelPattern.MatchString(text) {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + hex.EncodeToString(sum[:16])
}

// CorruptRecordError says that a release record cannot be decoded. It says nothing
// about what is deployed.
type CorruptRecordError struct {
	// Name is that of the Secret.
	Name string
}

func (e *CorruptRecordError) Error() string {
	return fmt.Sprintf("the release record %s cannot be decoded; delete that Secret to install the release again", e.Name)
}

// UnlistedError reports a release that the cluster's list of release records lacks, while
// the record of a revision that state knows can be read by its name. So the list does not
// prove that the release is gone.
type UnlistedError struct {
	Release   string
	Namespace string
	Revision  int
}

// Error names no release, so that one cause reads alike for all of them.
func (e *UnlistedError) Error() string {
	return "the cluster's list of release records does not contain this release, but its record still exists"
}

// ChangedError says that a release is not as it was when the cluster was looked at, or
// is there and was not, so that it has to be looked at again.
type ChangedError struct {
	Release   string
	Namespace string
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("release %s in namespace %s has changed since the cluster was read", e.Release, e.Namespace)
}
