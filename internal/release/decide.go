package release

import "fmt"

// Action is what has to be done to one release.
type Action int

// The actions, in the order in which Decide considers them.
const (
	// Keep leaves the release as it is.
	Keep Action = iota
	// Install creates a release that does not exist.
	Install
	// Upgrade makes a new revision.
	Upgrade
	// Recover makes a new revision after an operation that was interrupted.
	Recover
	// Adopt changes the mark of a release that is already as wanted.
	Adopt
	// Uninstall removes the release and its objects.
	Uninstall
)

// String names the action for logs.
func (a Action) String() string {
	switch a {
	case Keep:
		return "keep"
	case Install:
		return "install"
	case Upgrade:
		return "upgrade"
	case Recover:
		return "recover"
	case Adopt:
		return "adopt"
	case Uninstall:
		return "uninstall"
	}
	return fmt.Sprintf("Action(%d)", int(a))
}

// Doing names the action in progress, for error messages.
func (a Action) Doing() string {
	switch a {
	case Install:
		return "installing"
	case Upgrade:
		return "upgrading"
	case Recover:
		return "recovering"
	case Keep, Adopt:
		return "adopting"
	case Uninstall:
		return "removing"
	}
	return a.String()
}

// Writes reports whether the action makes a revision.
func (a Action) Writes() bool { return a != Keep && a != Adopt }

// WithRewrite returns the action that also writes the objects of a release again, if reason is
// true: an action that would make no revision becomes an upgrade.
func (a Action) WithRewrite(reason bool) Action {
	if reason && !a.Writes() {
		return Upgrade
	}
	return a
}

// Facts are what is known about a wanted deployment before its cluster is read. The zero value is
// for a deployment about which nothing is known.
type Facts struct {
	// Known reports that state has the deployment.
	Known bool
	// SameDigest and SameRelease report that state has what is wanted: the same content, including
	// write-only versions, and the same name and namespace of the release.
	SameDigest, SameRelease bool
	// Completed reports that the last operation was completed.
	Completed bool
	// OtherRecord reports that the release record is not the record that the target wrote.
	OtherRecord bool
	// Drifted reports objects that are not as they were deployed and are to be corrected.
	Drifted bool
	// Unpinned reports that values come from cluster objects whose versions are not known.
	Unpinned bool
	// Leftovers reports further releases of the deployment, which a write removes.
	Leftovers bool
	// FromEngine reports that a Fleet delivered the release. That Fleet no longer manages the
	// release by the time the release is written.
	FromEngine bool
	// Forced reports that the release has to be read although its content does not change: its
	// marks are to change, or its objects are to be shown.
	Forced bool
}

// NeedsWrite reports whether an apply has to read the release. Decide then determines whether a new
// revision is needed. A release that needs no write is as wanted, and nothing is requested for it.
func (f Facts) NeedsWrite() bool {
	isWanted := f.Known && f.SameDigest && f.SameRelease && f.Completed
	return !isWanted || f.Drifted || f.Unpinned || f.Leftovers || f.Forced
}

// rewrites reports whether the objects are written again although they are as wanted according to
// the release record.
func (f Facts) rewrites() bool { return f.Drifted || f.Known && f.OtherRecord }

// Decide returns the action that changes observed to the release that the claimant wants. observed
// is nil if the cluster has no such release. A release is changed without takeOwnership only if it
// belongs to this target, has its adoption key, or was delivered for it by Fleet's agent. Otherwise
// the error is a *ForeignError. Only a release with a record that is trusted stays without a new
// revision.
func Decide(facts Facts, by Claimant, observed *Observed, takeOwnership bool) (Action, error) {
	if !Exists(observed) {
		return Install, nil
	}
	ownership := by.Ownership(*observed)
	isAgents := facts.FromEngine && !ownership.IsByTarget()
	if !ownership.mayAdopt() && !takeOwnership && !isAgents {
		return Keep, by.foreign(*observed)
	}
	if observed.Failed > MaxFailed {
		return Keep, &TooManyFailedError{Release: observed.Release, Namespace: observed.Namespace, Failed: observed.Failed}
	}
	switch observed.Status {
	case StatusPendingInstall, StatusPendingUpgrade, StatusPendingRollback, StatusUninstalling, StatusUnknown:
		return Recover, nil
	case StatusFailed, StatusSuperseded:
		return Upgrade, nil
	case StatusDeployed, StatusUninstalled:
	}
	if !by.Trusts(*observed) || !observed.Current() || observed.Mark.Digest != by.Mark.Digest {
		return Upgrade, nil
	}
	if ownership != Self || observed.Mark.Instance != by.Mark.Instance {
		return Adopt.WithRewrite(facts.rewrites()), nil
	}
	return Keep.WithRewrite(facts.rewrites()), nil
}

// foreign returns the error for a release that belongs to another owner or tool.
func (c Claimant) foreign(observed Observed) error {
	foreign := &ForeignError{
		Release: observed.Release, Namespace: observed.Namespace, Revision: observed.Revision,
		Ownership: c.Ownership(observed), Owner: observed.Mark.OwnerText(),
	}
	if known := c.known(); known != nil {
		foreign.Since = known.Revision
	}
	return foreign
}

// DecideRemoval returns Uninstall if a target may remove observed, and Keep otherwise. A target
// keeps a release that another target has adopted with the same adoption key. A release that was
// changed since state recorded it needs takeOwnership, whatever its labels claim; without it the
// error is a *ForeignError. With it, the release is left to the other target that its labels name,
// or removed if they name none.
func DecideRemoval(by Claimant, observed *Observed, takeOwnership bool) (Action, error) {
	if observed == nil {
		return Keep, nil
	}
	switch by.Ownership(*observed) {
	case Self:
		return Uninstall, nil
	case OtherTool:
		if !takeOwnership {
			return Keep, by.foreign(*observed)
		}
		if observed.Mark.Owner != "" && observed.Current() && !by.isOwn(observed.Mark.Instance) {
			return Keep, nil
		}
		return Uninstall, nil
	case Unmarked, OtherOwner, OtherTarget, SameName, SameKey:
	}
	return Keep, nil
}

// Current reports whether the mark was written for the revision that has it. This is false after a
// rollback or an upgrade by another tool.
func (o Observed) Current() bool { return o.Mark.Revision == o.Revision }
