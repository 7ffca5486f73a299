package release

import (
	"fmt"
	"strings"
)

// Ownership describes who owns a release in relation to a target that wants it or has it in state.
type Ownership int

const (
	// Unmarked means that the record has no mark of this provider, as with plain Helm and with
	// Fleet's agent.
	Unmarked Ownership = iota
	// OtherTool means that another than this target made the newest revision after state has
	// recorded the release, or that the mark was written for an earlier revision. Helm copies labels
	// to the next revision, so the newest revision was made by hand with Helm, or by Fleet's agent.
	OtherTool
	// OtherOwner means that a target of another owner has the release.
	OtherOwner
	// OtherTarget means that another target of the same owner has it.
	OtherTarget
	// SameName means that a target with the same owner and name has it, which is not in this state.
	// The state was lost, or another state uses the same names.
	SameName
	// SameKey means that a target of the same owner with the same adoption key has it. The record
	// proves that.
	SameKey
	// Self means that this target has it, even if the target had another name when it wrote the
	// mark. Either the record proves that, or the state has this revision.
	Self
)

// claimed returns the ownership that the labels of a record claim, in relation to the target of m.
func (m Mark) claimed(observed Observed) Ownership {
	other := observed.Mark
	switch {
	case other.Owner == "":
		return Unmarked
	case !observed.Current():
		return OtherTool
	case m.Owner != other.Owner:
		return OtherOwner
	case m.Target == other.Target:
		return SameName
	}
	return OtherTarget
}

// OwnershipBy returns the ownership of a release in relation to an owner. A release of any target
// of this owner is Self.
func (o Observed) OwnershipBy(owner string) Ownership {
	switch ownership := NewMark(owner, "", "", "", "").claimed(o); ownership {
	case OtherTarget, SameName, SameKey, Self:
		return Self
	case Unmarked, OtherTool, OtherOwner:
		return ownership
	}
	return Unmarked
}

// IsMarkedBy reports whether the record has the mark of an owner, even if another tool wrote the
// newest revision since.
func (o Observed) IsMarkedBy(owner string) bool { return o.Mark.Owner == labelValue(owner) }

// IsByTarget reports whether a target of this provider made the newest revision.
func (o Ownership) IsByTarget() bool { return o != Unmarked && o != OtherTool }

// mayAdopt reports whether the release may be written without take_ownership.
func (o Ownership) mayAdopt() bool { return o == Self || o == SameKey }

// OwnerText names the target and owner that made a mark. It is "" for the zero mark.
func (m Mark) OwnerText() string {
	if m.Owner == "" {
		return ""
	}
	return fmt.Sprintf("target %q of owner %q", m.Target, m.Owner)
}

// OtherRelease returns the other release, as Key, that Helm's annotations on an object of the release
// own name. It is "" if they name no release. A name without a namespace can be own.
func OtherRelease(own, namespace, name string) string {
	owner := Key(namespace, name)
	if name == "" || owner == own || namespace == "" && strings.HasSuffix(own, owner) {
		return ""
	}
	return owner
}

// Creator is the tool that created the newest revision of a release that is not this provider's.
type Creator struct {
	// Name is for example "Helm" or "Fleet's agent (mgmt/web)".
	Name string
	// Fleet reports that the tool is Fleet's agent, which continues to manage the release.
	Fleet bool
}

// ForeignError reports a release that belongs to another owner or tool.
type ForeignError struct {
	Release   string
	Namespace string
	Revision  int
	Ownership Ownership
	// Owner is the target that has the release, "" if the record does not name one.
	Owner string
	// Creator is the tool that created the newest revision, if it is known.
	Creator Creator
	// Since is the revision that state has of the release, 0 for none.
	Since int
}

func (e *ForeignError) Error() string {
	return e.textAt(fmt.Sprintf("release %s in namespace %s", e.Release, e.Namespace))
}

// Template is the text without the name of the release, see status.Template.
func (e *ForeignError) Template() string { return e.textAt("a release") }

func (e *ForeignError) textAt(at string) string {
	by := e.Creator.Name
	if by == "" {
		by = "another tool"
	}
	switch e.Ownership {
	case SameName:
		return fmt.Sprintf("%s belongs to another %s, which is not in this state", at, e.Owner)
	case OtherTool:
		if e.Since >= e.Revision {
			return fmt.Sprintf("revision %d of %s is not as this provider wrote it: the state has revision %d", e.Revision, at, e.Since)
		}
		return fmt.Sprintf("revision %d of %s was created by %s, after the last revision of this provider", e.Revision, at, by)
	case Unmarked:
		if e.Creator.Name != "" {
			return fmt.Sprintf("%s belongs to %s", at, by)
		}
		return fmt.Sprintf("%s does not belong to this provider (its record has none of its labels)", at)
	case OtherOwner, OtherTarget, SameKey, Self:
	}
	return fmt.Sprintf("%s belongs to %s", at, e.Owner)
}
