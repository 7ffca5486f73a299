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

// ForeignError says that a release belongs to somebody else.
type ForeignError struct {
	Release   string
	Namespace string
	// Holder is who has it, "" when the record does not say.
	Holder string
	// Namesake says that the holder has the names of this target: another
	// workspace uses them too, or the state that knew the release is lost.
	Namesake bool
}

func (e *ForeignError) Error() string {
	switch {
	case e.Namesake:
		return fmt.Sprintf("release %s in namespace %s belongs to another %s, which the state of this workspace does not know", e.Release, e.Namespace, e.Holder)
	case e.Holder == "":
		return fmt.Sprintf("release %s in namespace %s belongs to somebody else (its record carries no mark of this provider); set take_ownership to take it over", e.Release, e.Namespace)
	}
	return fmt.Sprintf("release %s in namespace %s belongs to %s; set take_ownership to take it over", e.Release, e.Namespace, e.Holder)
}

// Decide says what makes observed what the mark wants. observed is nil when the
// cluster was seen to have no such release. A release that is neither this
// instance's nor a sibling's is touched only with takeOwnership; else the error is
// a *ForeignError.
func Decide(wanted Mark, observed *Observed, takeOwnership bool) (Action, error) {
	if observed == nil || observed.Status == StatusUninstalled {
		return Install, nil
	}
	standing := wanted.Standing(observed.Mark)
	if !standing.shares() && !takeOwnership {
		return Keep, &ForeignError{
			Release: observed.Release, Namespace: observed.Namespace,
			Holder: observed.Mark.Holder(), Namesake: standing == Namesake,
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
	if standing != Own {
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

// DecideRemoval says whether the holder of mark may remove observed: only what
// carries its own instance id. Anything else was taken over by another and is
// kept.
func DecideRemoval(mark Mark, observed *Observed) Action {
	if observed == nil || mark.Standing(observed.Mark) != Own {
		return Keep
	}
	return Uninstall
}

// Current says whether the mark was written for the revision it stands on. It
// is not after a rollback or an upgrade by somebody else.
func (o Observed) Current() bool { return o.Mark.Revision == o.Revision }
