// Package release compares the wanted release with the existing release and decides what has to be
// done.
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

// Observed is the newest record of one release on one cluster, as read from the record's metadata.
type Observed struct {
	Release   string
	Namespace string
	Revision  int
	Status    Status
	// Mark is the mark of this provider on the record. It is the zero value for a record that
	// another tool wrote.
	Mark Mark
	// Content and MAC are codes that prove the content of the record and its labels, "" for none.
	// Records of a target with equal content have the same code.
	Content, MAC string
	// Failed is the number of different revisions that have failed since the last one that was
	// deployed.
	Failed int
}

// Exists reports whether there is a release. The history that an uninstall can leave is not a
// release.
func Exists(observed *Observed) bool {
	return observed != nil && observed.Status != StatusUninstalled
}

// Mark describes who made a revision of a release and from what. It is stored as labels of the
// release record; NewMark makes its fields legal label values.
type Mark struct {
	// Owner and Target are the provider's owner and the target's name.
	Owner  string
	Target string
	// Instance is the random id of the target that owns the release.
	Instance string
	// AdoptionKey is a hash of the target's adoption key, "" if it has none.
	AdoptionKey string
	Bundle      string
	// Digest is the digest of the deployment.
	Digest string
	// UninstallPolicy is how the release is handled when it is removed.
	UninstallPolicy UninstallPolicy
	// Text is the origin of the text in its objects.
	Text TextOrigin
	// Revision is the revision this mark was written for. Helm copies labels
	// to revisions made by others, so a mark counts only for its own revision.
	Revision int
}

// NewMark makes the mark of a deployment. Names that are not legal label values are stored as
// hashes, such as "sha256-9f86d081884c7d659a2feaa0c55ad015". An instance that is not known yet
// remains "".
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

// AdoptionKey is the form of an adoption key on a record: a hash over owner and key in 32
// hexadecimal digits, "" for no key. The key cannot be read from the record.
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

// CorruptRecordError reports that a release record cannot be decoded. The error contains no
// information about the deployed objects.
type CorruptRecordError struct {
	// Name is the name of the Secret.
	Name string
}

func (e *CorruptRecordError) Error() string {
	return fmt.Sprintf("the release record %s cannot be decoded; delete that Secret to install the release again", e.Name)
}

// UnlistedError reports a release that is missing from the cluster's list of release records,
// although the record of a revision in state can be read by its name. So the list does not prove
// that the release was removed.
type UnlistedError struct {
	Release   string
	Namespace string
	Revision  int
}

// Error names no release, so that all releases with this cause have the same error text.
func (e *UnlistedError) Error() string {
	return "the cluster's list of release records does not contain this release, but its record still exists"
}

// ChangedError reports that a release was changed or created after the cluster was read, so that it
// has to be read again.
type ChangedError struct {
	Release   string
	Namespace string
}

// Template is the text without names, see status.Template.
func (e *ChangedError) Template() string { return "the release has changed since the cluster was read" }

func (e *ChangedError) Error() string {
	return fmt.Sprintf("release %s in namespace %s has changed since the cluster was read", e.Release, e.Namespace)
}
