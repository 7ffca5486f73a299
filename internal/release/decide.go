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

// Decide says what makes observed what the mark wants. observed is nil when the
// cluster was seen to have no such release. A release of anybody but this target, or
// one with its adoption key, is touched only with takeOwnership; else the error is a
// *ForeignError.
func Decide(wanted Mark, observed *Observed, takeOwnership bool) (Action, error) {
	if observed == nil || observed.Status == StatusUninstalled {
		return Install, nil
	}
	ownership := wanted.Ownership(*observed)
	if !ownership.mayAdopt() && !takeOwnership {
		return Keep, &ForeignError{
			Release: observed.Release, Namespace: observed.Namespace, Revision: observed.Revision,
			Ownership: ownership, Holder: observed.Mark.Holder(),
		}
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
		return Adopt, nil
	}
	return Keep, nil
}

// Correct answers the action that also takes back what others changed on the objects
// of a release, if anything is to be taken back.
func Correct(action Action, drifted bool) Action {
	if drifted && (action == Keep || action == Adopt) {
		return Upgrade
	}
	return action
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
		return Keep, &ForeignError{
			Release: observed.Release, Namespace: observed.Namespace, Revision: observed.Revision,
			Ownership: ownership, Holder: observed.Mark.Holder(),
		}
	case Unmarked, OtherOwner, OtherTarget, SameName, SameKey:
	}
	return Keep, nil
}

// Current says whether the mark was written for the revision it stands on. It
// is not after a rollback or an upgrade by somebody else.
func (o Observed) Current() bool { return o.Mark.Revision == o.Revision }
