package release

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
)

// Write describes how a revision is written.
type Write struct {
	// Mark is stored on the record. The writer sets its Revision. Proof proves that the target wrote
	// the record.
	Mark  Mark
	Proof Proof
	// Wait until all objects are ready, for at most Timeout. Hooks are always
	// waited for.
	Wait    bool
	Timeout time.Duration
	// ReadyFor is how long a container without a readiness probe has to run, see Readiness.
	ReadyFor time.Duration
	// ExplainLogs adds the end of the logs of failed containers to errors.
	ExplainLogs bool
	// MaxHistory is the number of revisions kept.
	MaxHistory int
	// TakeOwnership adopts objects that already exist, and a release of another owner.
	TakeOwnership bool
	// Former are the keys (see Key) of the releases that the deployment moves from. Only their
	// objects are taken over.
	Former []string
	// Taken maps the key of each object that is taken over (see diff.Object.Key) to the releases of
	// the same target that had it (see Key). KeepObjects maps objects that another bundle of the
	// target takes over to that bundle: they are not deleted although the release no longer has
	// them.
	Taken       map[string][]string
	KeepObjects map[string]string
	// Owns reports whether state has a release of this cluster, as Key. A failed move can leave an
	// object in another release of the target. nil means that state has none.
	Owns func(at string) bool
	// Description is stored in the history of the release.
	Description string
	// Known is the data in state about the release of this namespace and name, nil if state has
	// none. Objects that already exist belong to the release only if state has it, or if
	// TakeOwnership is set.
	Known *Known
	// Planned are the objects of the plan as returned by Rendering.KnownHashes, nil if none were
	// known.
	Planned map[string]string
	// NamespaceUsedBy are other releases that are to be deployed to the namespace. If an install is
	// taken back, the namespace is kept for them.
	NamespaceUsedBy []string
	// Check can refuse the objects before anything is written. Its argument is the rendering of the
	// deployment for its cluster. It is nil if there is nothing to check.
	Check func(documents []diff.Document, mask func(text string) string) error
	// Slot is that of the operation, nil if operations are not counted.
	Slot Slot
	// Listener follows the operation, nil for none.
	Listener Listener
}

// Listener follows the operation on one release. Its methods return at once.
type Listener interface {
	// Retries is called before each further attempt.
	Retries()
	// WaitsFor is called during a wait, with the first object that is not ready and the number of
	// such objects. With 0 objects the wait is over.
	WaitsFor(first Unready, objects int)
}

// Claimant returns the target that writes the release.
func (w Write) Claimant() Claimant { return Claimant{Mark: w.Mark, Proof: w.Proof, Known: w.Known} }

// MovesObjects reports whether objects are taken over from other releases of the target.
func (w Write) MovesObjects() bool { return len(w.Former)+len(w.Taken) > 0 }

// Slot is the slot of an operation. The number of operations that run at the same time is limited.
type Slot interface {
	// Yield gives the slot to another operation when all objects are written and the operation only
	// waits until they are ready, unless too many operations wait.
	Yield()
	// Pause gives up the slot, and Resume takes one again, also after Yield.
	Pause()
	Resume(ctx context.Context) error
}

// Written is the result of an operation on the cluster.
type Written struct {
	Observed  Observed
	Rendering Rendering
	// NotReady is the reason why the objects are not ready yet, if the operation did not wait for
	// them.
	NotReady error
	// Revision is the newest revision that the operation made, 0 if it made none. It is also set with
	// an error.
	Revision int
	// NotOwned are the keys of objects that the release no longer has. They were not deleted, because
	// their live annotations name no release.
	NotOwned []string
	// Untrusted reports that a release could not stay as it is, because the content of its record
	// is not proven. Nothing was written then.
	Untrusted bool
}

// Snapshot is the data that was read from a cluster at one moment.
type Snapshot struct {
	// UID distinguishes clusters of the same name. It is "" if the identity may not read it.
	UID string
	// Confirmed reports that the configuration names this UID.
	Confirmed bool
	// Namespaces are those whose releases were listed, nil for all.
	Namespaces []string
	// Releases maps Key to the newest record of each release.
	Releases map[string]Observed
	// LeftOut are namespaces whose records are too large to list. Releases has none of them.
	LeftOut []string
}

// LeavesOut reports whether the releases of a namespace are not known.
func (s Snapshot) LeavesOut(namespace string) bool {
	return slices.Contains(s.LeftOut, namespace) || !isListed(s.Namespaces, namespace)
}

// isListed reports whether the releases of a namespace are listed. Without namespaces, all are.
func isListed(namespaces []string, namespace string) bool {
	return len(namespaces) == 0 || slices.Contains(namespaces, namespace)
}

// CheckListed returns an error if a namespace could not be listed.
func (s Snapshot) CheckListed() error {
	if len(s.LeftOut) == 0 {
		return nil
	}
	return fmt.Errorf("the Secrets with the labels of release records are too large to list in these namespaces: %s; "+
		"delete those that are not release records", strings.Join(s.LeftOut, ", "))
}

// CheckComplete returns an error if the releases of a namespace are not known, because it could not be
// listed, or because the configuration of the cluster limits which releases are known.
func (s Snapshot) CheckComplete() error {
	if err := s.CheckListed(); err != nil || len(s.Namespaces) == 0 {
		return err
	}
	return fmt.Errorf("the attribute namespaces of the cluster limits which releases are known: those in %s",
		strings.Join(s.Namespaces, ", "))
}

// Find looks up a release. It returns nil if the cluster has none of that name, or leaves out its
// namespace.
func (s Snapshot) Find(namespace, name string) *Observed {
	observed, ok := s.Releases[Key(namespace, name)]
	if !ok {
		return nil
	}
	return &observed
}

// Of returns the releases of an owner's bundle, of any target, sorted by namespace and name.
func (s Snapshot) Of(owner, bundle string) []Observed {
	return s.matching(func(o Observed) bool { return o.IsMarkedBy(owner) && o.Mark.Bundle == labelValue(bundle) })
}

// OfTarget returns the releases of an owner's target, of any instance of the target, sorted by
// namespace and name.
func (s Snapshot) OfTarget(owner, target string) []Observed {
	return s.matching(func(o Observed) bool { return o.IsMarkedBy(owner) && o.Mark.Target == labelValue(target) })
}

// Owned returns the releases that have the ownership as to a target, sorted by namespace and name.
func (s Snapshot) Owned(by Claimant, as Ownership) []Observed {
	return s.matching(func(o Observed) bool { return by.Ownership(o) == as })
}

// matching returns the existing releases that are wanted, sorted by namespace and name.
func (s Snapshot) matching(isWanted func(Observed) bool) []Observed {
	var found []Observed
	for _, observed := range s.Releases {
		if Exists(&observed) && isWanted(observed) {
			found = append(found, observed)
		}
	}
	slices.SortFunc(found, func(a, b Observed) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Release, b.Release))
	})
	return found
}

// Key names a release on its cluster.
func Key(namespace, name string) string { return namespace + "/" + name }
