package release

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
)

// Write says how a revision is written.
type Write struct {
	// Mark goes on the record. Its Revision is set by the writer.
	Mark Mark
	// Wait until all objects are ready, for at most Timeout. Hooks are always
	// waited for.
	Wait    bool
	Timeout time.Duration
	// MaxHistory is the number of revisions kept.
	MaxHistory int
	// TakeOwnership adopts objects that are there already, TakeRelease a release of
	// another owner.
	TakeOwnership, TakeRelease bool
	// Former are the releases, as Key, that the deployment moves from. Their objects are
	// taken over, and nobody else's.
	Former []string
	// Taken are objects, by diff.Object.Key, that are taken over from releases of the same target,
	// by Key, and Spare those that another bundle of the target takes over: they are not
	// deleted although the release no longer has them.
	Taken       map[string][]string
	KeepObjects map[string]string
	// Description is in the history of the release.
	Description string
	// Known is what state says of the release at this namespace and name, nil if it does
	// not know one there. Objects that are there already belong to the release only if
	// state knows it, or TakeOwnership is set.
	Known *Known
	// Planned are the objects of the plan as Rendering.KnownHashes has them, nil if it knew
	// none.
	Planned map[string]string
	// NamespaceUsedBy are other releases that are to be deployed to the namespace. It stays
	// for them if an install is taken back.
	NamespaceUsedBy []string
	// Check refuses objects before anything is written, nil if nothing does. It is given what
	// the deployment is rendered to for its cluster.
	Check func(documents []diff.Document) error
	// Token is the operation's, nil if nobody counts.
	Token Token
	// Listener follows the operation, nil for nobody.
	Listener Listener
}

// Listener follows the operation on one release. Its methods return at once.
type Listener interface {
	// Retries is called before each further attempt.
	Retries()
	// WaitsFor is called during a wait, with the first object that is waited for and the
	// number of them. With 0 objects the wait is over.
	WaitsFor(first Unready, objects int)
}

// MovesObjects reports whether objects are taken over from other releases of the target.
func (w Write) MovesObjects() bool { return len(w.Former)+len(w.Taken) > 0 }

// Token is the place of an operation among those that run at once.
type Token interface {
	// Yield makes room for others when everything is written and nothing is left but to
	// wait until objects are ready. It says whether the operation goes on beside those
	// that run.
	Yield() bool
	// Pause gives the place up, and Resume takes one again, also after a rest.
	Pause()
	Resume(ctx context.Context) error
}

// Written is what an operation left on the cluster.
type Written struct {
	Observed  Observed
	Rendering Rendering
	// NotReady says why the objects are not ready yet, when they were not
	// waited for.
	NotReady error
	// Content covers the manifest and the hooks of the newest record that the operation
	// wrote or verified, see Known.Content. It is set beside an error, too, once a record
	// was written.
	Content string
}

// Snapshot is what a cluster answered at one moment.
type Snapshot struct {
	// UID distinguishes clusters of the same name; "" when the
	// identity may not read it.
	UID string
	// Confirmed reports that the configuration names this UID.
	Confirmed bool
	// Releases maps Key to the newest record of each release.
	Releases map[string]Observed
}

// Find looks up a release, nil when the cluster has none of that name.
func (s Snapshot) Find(namespace, name string) *Observed {
	observed, ok := s.Releases[Key(namespace, name)]
	if !ok {
		return nil
	}
	return &observed
}

// Of are the releases of a bundle that an owner has, whichever of its targets made
// them, sorted by namespace and name.
func (s Snapshot) Of(owner, bundle string) []Observed {
	return s.matching(func(o Observed) bool { return o.IsMarkedBy(owner) && o.Mark.Bundle == labelValue(bundle) })
}

// OfTarget are the releases of a target by its name, whichever instance of it made them,
// sorted by namespace and name.
func (s Snapshot) OfTarget(owner, target string) []Observed {
	return s.matching(func(o Observed) bool { return o.IsMarkedBy(owner) && o.Mark.Target == labelValue(target) })
}

// Owned are the releases that have an ownership seen from the target of a mark, sorted by namespace and name.
func (s Snapshot) Owned(by Mark, as Ownership) []Observed {
	return s.matching(func(o Observed) bool { return by.Ownership(o) == as })
}

// matching returns the releases that are there and wanted, sorted by namespace and name.
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
