// Package status describes deployments: the state and message of each, and the counts over all
// of them.
package status

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// State is the state of one deployment, with Fleet's names
// (pkg/apis/fleet.cattle.io/v1alpha1/bundle_types.go, BundleState).
type State string

// The states of a deployment.
const (
	// Ready: deployed, and every object is ready and as deployed.
	Ready State = "Ready"
	// NotReady: deployed, and some objects are not ready yet.
	NotReady State = "NotReady"
	// Pending: wanted, and not deployed yet.
	Pending State = "Pending"
	// OutOfSync: a newer version is wanted, and held back.
	OutOfSync State = "OutOfSync"
	// Modified: someone else changed the release or its objects.
	Modified State = "Modified"
	// WaitApplied: an operation was interrupted or has not started.
	WaitApplied State = "WaitApplied"
	// ErrApplied: the last operation failed.
	ErrApplied State = "ErrApplied"
)

// ranks orders states by how bad they are (Fleet: StateRank).
var ranks = []State{Ready, NotReady, Pending, OutOfSync, Modified, WaitApplied, ErrApplied} //nolint:gochecknoglobals // a constant list

// Rank is 1 for Ready and higher for a worse state. It is 0 for an unknown state.
func (s State) Rank() int { return slices.Index(ranks, s) + 1 }

// Worst returns the worst of several states, Ready for none.
func Worst(states ...State) State {
	worst := Ready
	for _, state := range states {
		if state.Rank() > worst.Rank() {
			worst = state
		}
	}
	return worst
}

// Settled reports whether a deployment in this state is as it was last applied. Then nothing
// has to be done while its digest stays the same.
func (s State) Settled() bool { return s == Ready || s == NotReady }

// MaxMessage is the maximum length of a message in the state, in bytes.
const MaxMessage = 120

// Message shortens text to one line of at most MaxMessage bytes.
func Message(text string) string {
	line := strings.Join(strings.Fields(text), " ")
	if len(line) <= MaxMessage {
		return line
	}
	const ellipsis = "…"
	line = line[:MaxMessage-len(ellipsis)]
	for !utf8.ValidString(line) {
		line = line[:len(line)-1]
	}
	return line + ellipsis
}

// Changes contains how many deployments a change adds, changes, removes and keeps.
type Changes struct {
	Added, Changed, Removed, Kept int
	// Held is the number of deployments that differ from the wanted ones and stay so. Those
	// that exist count as kept, too.
	Held int
	// TakenOver is the number of changed deployments that take a release or objects over from another
	// owner.
	TakenOver int
}

// TakingOver returns the changes with a number of deployments that are taken over. Those of them that
// count as added count as changed instead.
func (c Changes) TakingOver(number, added int) Changes {
	c.Added -= added
	c.Changed += added
	c.TakenOver = number
	return c
}

// Any reports whether there is any change.
func (c Changes) Any() bool { return c.Added+c.Changed+c.Removed > 0 }

// String returns the short form for plans: "+2 ~1 -3 =494", or "+2 ~1 -3 =494, 1 taken over, 5 held".
func (c Changes) String() string {
	text := fmt.Sprintf("+%d ~%d -%d =%d", c.Added, c.Changed, c.Removed, c.Kept)
	if c.TakenOver > 0 {
		text += fmt.Sprintf(", %d taken over", c.TakenOver)
	}
	if c.Held > 0 {
		text += fmt.Sprintf(", %d held", c.Held)
	}
	return text
}
