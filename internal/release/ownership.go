package release

import "fmt"

// Ownership says whose a release is, seen from a target that wants it or knows it.
type Ownership int

const (
	// Unmarked means that the record carries no mark of this provider, as with plain Helm and with
	// Fleet's agent.
	Unmarked Ownership = iota
	// OtherTool means that the record carries a mark, but it was written for an earlier revision.
	// Helm carries labels over to the next one, so the newest revision was made by hand
	// with Helm, or by Fleet's agent.
	OtherTool
	// OtherOwner is a target of another owner.
	OtherOwner
	// OtherTarget is another target of the same owner.
	OtherTarget
	// SameName is a target with the same owner and name that this state does not know. The
	// state is lost, or another state uses the same names.
	SameName
	// SameKey is a target of the same owner with the same adoption key.
	SameKey
	// Self is this very target, whatever its name was when it wrote the mark.
	Self
)

// Ownership says whose a release is to the target that m is of.
func (m Mark) Ownership(observed Observed) Ownership {
	other := observed.Mark
	switch {
	case other.Owner == "":
		return Unmarked
	case !observed.Current():
		return OtherTool
	case m.Instance != "" && m.Instance == other.Instance, m.KnownAs != "" && m.KnownAs == other.Instance:
		return Self
	case m.Owner != other.Owner:
		return OtherOwner
	case m.AdoptionKey != "" && m.AdoptionKey == other.AdoptionKey:
		return SameKey
	case m.Target == other.Target:
		return SameName
	}
	return OtherTarget
}

// OwnershipBy says whose a release is to an owner, whichever of its targets asks. A release
// of any of them is Self.
func (o Observed) OwnershipBy(owner string) Ownership {
	switch ownership := NewMark(owner, "", "", "", "").Ownership(o); ownership {
	case OtherTarget, SameName, SameKey, Self:
		return Self
	case Unmarked, OtherTool, OtherOwner:
		return ownership
	}
	return Unmarked
}

// IsMarkedBy reports whether the record has the mark of an owner, even if somebody else
// wrote the newest revision since.
func (o Observed) IsMarkedBy(owner string) bool { return o.Mark.Owner == labelValue(owner) }

// IsByTarget reports whether a target of this provider made the newest revision.
func (o Ownership) IsByTarget() bool { return o != Unmarked && o != OtherTool }

// mayAdopt reports whether the release may be written without take_ownership.
func (o Ownership) mayAdopt() bool { return o == Self || o == SameKey }

// OwnerText names who made a mark, "" for the zero mark.
func (m Mark) OwnerText() string {
	if m.Owner == "" {
		return ""
	}
	return fmt.Sprintf("target %q of owner %q", m.Target, m.Owner)
}

// Maker is who made the newest revision of a release that is not this provider's.
type Maker struct {
	// Name is such as "Helm" or "Fleet's agent (mgmt/web)".
	Name string
	// Fleet reports that it is Fleet's agent, which goes on managing the release.
	Fleet bool
}

// ForeignError reports a release that belongs to somebody else.
type ForeignError struct {
	Release   string
	Namespace string
	Revision  int
	Ownership Ownership
	// Owner is the target that has it, "" when the record does not say.
	Owner string
	// Maker is who made the newest revision, if it is known.
	Maker Maker
}

func (e *ForeignError) Error() string {
	at := fmt.Sprintf("release %s in namespace %s", e.Release, e.Namespace)
	by := e.Maker.Name
	if by == "" {
		by = "another tool"
	}
	switch e.Ownership {
	case SameName:
		return fmt.Sprintf("%s belongs to another %s, which is not in this state", at, e.Owner)
	case OtherTool:
		return fmt.Sprintf("revision %d of %s was created by %s, after the last revision of this provider", e.Revision, at, by)
	case Unmarked:
		if e.Maker.Name != "" {
			return fmt.Sprintf("%s belongs to %s", at, by)
		}
		return fmt.Sprintf("%s does not belong to this provider (its record has none of its labels)", at)
	case OtherOwner, OtherTarget, SameKey, Self:
	}
	return fmt.Sprintf("%s belongs to %s", at, e.Owner)
}
