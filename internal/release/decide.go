package release

import "fmt"

// Action is what has to be done to one release.
type Action int

// The actions, in the order in which Decide considers them.
const (
	// Keep leaves the release as it is.
	Keep Action = iota
	// Install makes a release where there is none.
	Install
	// Upgrade makes a new revision.
	Upgrade
	// Recover makes a new revision after an operation that was cut short.
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

// Doing is what goes on while the action is carried out, for error messages.
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

// WithRewrite returns the action that also writes the objects of a release again, if there is a
// reason to: where no revision would be made, it is an upgrade.
func (a Action) WithRewrite(reason bool) Action {
	if reason && !a.Writes() {
		return Upgrade
	}
	return a
}

// Facts are what is known of a wanted deployment before its cluster is looked at. The zero
// value is a deployment of which nothing is known.
type Facts struct {
	// Known reports that state has the deployment.
	Known bool
	// SameDigest and SameRelease report that what state has is what is wanted: the content,
	// which write-only versions are part of, and the name and the namespace of the release.
	SameDigest, SameRelease bool
	// Completed reports that the last operation came to its end.
	Completed bool
	// OtherRecord reports that the release record is not the one that the target wrote.
	OtherRecord bool
	// Drifted reports objects that are not as they were deployed and are to be corrected.
	Drifted bool
	// Unpinned reports that the versions of the objects are not known that values come from.
	Unpinned bool
	// Leftovers reports further releases of the deployment, which a write removes.
	Leftovers bool
	// FromEngine reports that a Fleet delivered the release. It has let go of it when it is written.
	FromEngine bool
	// Forced reports that every release has to be looked at although nothing of it changes:
	// its marks are to change, or its objects are to be shown.
	Forced bool
}

// NeedsWrite reports whether an apply has to look at the release. Decide then finds out whether
// that takes a revision. What needs no write is as wanted, and nothing is asked about it.
func (f Facts) NeedsWrite() bool {
	isWanted := f.Known && f.SameDigest && f.SameRelease && f.Completed
	return !isWanted || f.Drifted || f.Unpinned || f.Leftovers || f.Forced
}

// rewrites reports whether the objects are written again although the release record says that
// they are as wanted.
func (f Facts) rewrites() bool { return f.Drifted || f.Known && f.OtherRecord }

// Decide says what makes observed what the mark wants. observed is nil when the
// cluster was seen to have no such release. A release of anybody but this target, its
// adoption key or the agent that delivered for it is touched only with takeOwnership; else
// the error is a *ForeignError.
func Decide(facts Facts, wanted Mark, observed *Observed, takeOwnership bool) (Action, error) {
	if !Exists(observed) {
		return Install, nil
	}
	ownership := wanted.Ownership(*observed)
	isAgents := facts.FromEngine && !ownership.IsByTarget()
	if !ownership.mayAdopt() && !takeOwnership && !isAgents {
		return Keep, foreign(*observed, ownership)
	}
	switch observed.Status {
	case StatusPendingInstall, StatusPendingUpgrade, StatusPendingRollback, StatusUninstalling, StatusUnknown:
		return Recover, nil
	case StatusFailed, StatusSuperseded:
		return Upgrade, nil
	case StatusDeployed, StatusUninstalled:
	}
	if !observed.Current() || observed.Mark.Digest != wanted.Digest {
		return Upgrade, nil
	}
	if ownership != Self || observed.Mark.Instance != wanted.Instance {
		return Adopt.WithRewrite(facts.rewrites()), nil
	}
	return Keep.WithRewrite(facts.rewrites()), nil
}

// foreign is the error for a release that belongs to somebody else.
func foreign(observed Observed, ownership Ownership) error {
	return &ForeignError{
		Release: observed.Release, Namespace: observed.Namespace, Revision: observed.Revision,
		Ownership: ownership, Owner: observed.Mark.OwnerText(),
	}
}

// DecideRemoval says whether the target of mark may remove observed. It may remove what
// carries its own id and, with takeOwnership, what another tool has changed since; without
// it the error is a *ForeignError. What belongs to anybody else is kept without an error.
func DecideRemoval(mark Mark, observed *Observed, takeOwnership bool) (Action, error) {
	if observed == nil {
		return Keep, nil
	}
	switch ownership := mark.Ownership(*observed); ownership {
	case Self:
		return Uninstall, nil
	case OtherTool:
		if takeOwnership {
			return Uninstall, nil
		}
		return Keep, foreign(*observed, ownership)
	case Unmarked, OtherOwner, OtherTarget, SameName, SameKey:
	}
	return Keep, nil
}

// Current says whether the mark was written for the revision that has it. It
// is not after a rollback or an upgrade by somebody else.
func (o Observed) Current() bool { return o.Mark.Revision == o.Revision }
