package release

import (
	"fmt"
	"slices"
)

// Standing is how the holder of a release stands to a target that wants it.
type Standing int

// The standings, from the farthest to the nearest.
const (
	// Unmarked: the record carries no mark of this provider, as with plain Helm
	// and with Fleet's agent.
	Unmarked Standing = iota
	// Stranger: a target of another owner, or of this owner in another workspace.
	Stranger
	// Namesake: a target with the same owner and name that is not known to be of
	// this workspace. Two workspaces use the same names, or a state is lost; which
	// of them cannot be told from here, so it is a stranger with a name.
	Namesake
	// Sibling: a target of the same owner in the same workspace. What is called
	// like this one is what it was before: a create that was cut short, or the
	// target that this one replaces. Any other hands its release over: that both
	// want it is an error of the plan.
	Sibling
	// Own: this very instance, whatever it was called when it made the mark, or one
	// whose releases were imported as its own.
	Own
)

// Standing says how the holder of other stands to the target that m is of.
func (m Mark) Standing(other Mark) Standing {
	switch {
	case other.Owner == "":
		return Unmarked
	case m.Instance != "" && (m.Instance == other.Instance || slices.Contains(m.Formers, other.Instance)):
		return Own
	case m.Owner != other.Owner:
		return Stranger
	case m.Workspace != "" && m.Workspace == other.Workspace:
		return Sibling
	case m.Target == other.Target:
		return Namesake
	}
	return Stranger
}

// shares says whether what the holder has may be written without being asked to
// take it.
func (s Standing) shares() bool { return s == Own || s == Sibling }

// Holder names who made a mark, "" for the zero mark.
func (m Mark) Holder() string {
	if m.Owner == "" {
		return ""
	}
	return fmt.Sprintf("target %q of owner %q", m.Target, m.Owner)
}
