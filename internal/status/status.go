// Package status words how deployments are doing: the state and message of each
// and the counts over all of them.
package status

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// State is how one deployment is doing, in Fleet's words
// (pkg/apis/fleet.cattle.io/v1alpha1/bundle_types.go, BundleState).
type State string

// The states of a deployment.
const (
	// Ready: deployed, every object as deployed, and ready.
	Ready State = "Ready"
	// NotReady: deployed, and some object is not ready yet.
	NotReady State = "NotReady"
	// Pending: wanted, and nothing is there yet.
	Pending State = "Pending"
	// OutOfSync: something newer is wanted, and held back.
	OutOfSync State = "OutOfSync"
	// Modified: somebody changed the release, or objects of it.
	Modified State = "Modified"
	// WaitApplied: an operation was cut short or has not started.
	WaitApplied State = "WaitApplied"
	// ErrApplied: the last operation failed.
	ErrApplied State = "ErrApplied"
)

// ranks orders states by how bad they are (Fleet: StateRank).
var ranks = []State{Ready, NotReady, Pending, OutOfSync, Modified, WaitApplied, ErrApplied} //nolint:gochecknoglobals // a constant list

// Rank is 1 for Ready and grows the worse a state is; 0 is no state.
func (s State) Rank() int { return slices.Index(ranks, s) + 1 }

// Worst is the state of many: the worst one, Ready for none.
func Worst(states ...State) State {
	worst := Ready
	for _, state := range states {
		if state.Rank() > worst.Rank() {
			worst = state
		}
	}
	return worst
}

// Settled says whether a deployment in this state is what was last asked for,
// so that nothing has to be done while its digest stays the same.
func (s State) Settled() bool { return s == Ready || s == NotReady }

// MaxMessage is the length of the longest message kept in state, in bytes.
const MaxMessage = 120

// Message cuts text down to one line of at most MaxMessage bytes.
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

// ReadyClusters counts clusters on which every deployment is ready, of those
// that have one: "48/50". states maps a cluster to the states of its
// deployments.
func ReadyClusters(states map[string][]State) string {
	ready := 0
	for _, of := range states {
		if !slices.ContainsFunc(of, func(s State) bool { return s != Ready }) {
			ready++
		}
	}
	return fmt.Sprintf("%d/%d", ready, len(states))
}

// Changes counts what a change does to deployments.
type Changes struct {
	Added, Changed, Removed, Kept int
	// Held are deployments that are not as wanted and are left so. Those that are there
	// count as kept, too.
	Held int
}

// Any says whether anything changes.
func (c Changes) Any() bool { return c.Added+c.Changed+c.Removed > 0 }

// String is the short form shown in plans: "+2 ~1 -3 =494", or "+2 ~1 -3 =494, 5 held".
func (c Changes) String() string {
	text := fmt.Sprintf("+%d ~%d -%d =%d", c.Added, c.Changed, c.Removed, c.Kept)
	if c.Held > 0 {
		text += fmt.Sprintf(", %d held", c.Held)
	}
	return text
}
