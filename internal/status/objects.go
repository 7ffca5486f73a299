package status

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// Counts are the objects of deployments. Every object counts once: as the worst that
// is known of it.
type Counts struct {
	Ready    int
	NotReady int
	Modified int
	Missing  int
	// NotOwned are held by another release, and count there.
	NotOwned int
	// Unknown were not looked at.
	Unknown int
}

// Desired is how many objects there should be.
func (c Counts) Desired() int { return c.Ready + c.NotReady + c.Modified + c.Missing + c.Unknown }

// Drifted says whether an object is not as it was deployed.
func (c Counts) Drifted() bool { return c.Modified+c.Missing > 0 }

// Plus adds counts up.
func (c Counts) Plus(other Counts) Counts {
	return Counts{
		Ready: c.Ready + other.Ready, NotReady: c.NotReady + other.NotReady, Modified: c.Modified + other.Modified,
		Missing: c.Missing + other.Missing, NotOwned: c.NotOwned + other.NotOwned, Unknown: c.Unknown + other.Unknown,
	}
}

// Unseen are the same objects when nothing is known of them.
func (c Counts) Unseen() Counts { return Counts{Unknown: c.Desired() + c.NotOwned} }

// WithoutLooking are the same objects when it is known how many are not ready, and
// nothing else is asked.
func (c Counts) WithoutLooking(notReady int) Counts {
	all := c.Desired() + c.NotOwned
	notReady = min(notReady, all)
	return Counts{Ready: all - notReady, NotReady: notReady}
}

// CountsOf counts what was found.
func CountsOf(f release.Finding) Counts {
	counts := Counts{
		Ready: f.Ready, NotReady: len(f.NotReady), Modified: len(f.Modified), Missing: len(f.Missing), NotOwned: len(f.NotOwned),
	}
	for _, number := range f.Refused {
		counts.Unknown += number
	}
	return counts
}

// Judge says how a deployment is doing whose last operation came to its end, and
// why (Fleet: internal/cmd/controller/summary/summary.go). What is not ready and was
// modified too counts as modified.
func Judge(f release.Finding) (state State, message string) {
	if len(f.NotReady) > 0 {
		first := f.NotReady[0]
		return NotReady, Message("not ready: " + first.Object + " is " + first.Reason + more(len(f.NotReady)-1))
	}
	drift := Drift(f)
	if len(drift) == 0 {
		return Ready, ""
	}
	return Modified, Message(drift[0] + more(len(drift)-1))
}

// maxUnready is how many objects of a deployment are named that are not ready.
const maxUnready = 5

// Unready lists objects that are not ready, a line each, and how many more there are.
func Unready(f release.Finding) []string {
	var lines []string
	for _, object := range f.NotReady[:min(len(f.NotReady), maxUnready)] {
		lines = append(lines, object.Object+" is "+object.Reason)
	}
	if left := len(f.NotReady) - len(lines); left > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", left))
	}
	return lines
}

// Drift lists the objects that are not as they were deployed, a line each, without
// any value.
func Drift(f release.Finding) []string {
	lines := make([]string, 0, len(f.Missing)+len(f.Modified)+len(f.NotOwned))
	for _, object := range f.Missing {
		lines = append(lines, object+" is missing")
	}
	for _, object := range f.Modified {
		paths := make([]string, len(object.Differences))
		for i, difference := range object.Differences {
			paths[i] = difference.Path
		}
		lines = append(lines, fmt.Sprintf("%s differs at %s", object.Object, strings.Join(paths, ", ")))
	}
	for _, object := range f.NotOwned {
		lines = append(lines, fmt.Sprintf("%s belongs to release %s", object.Object, object.Owner))
	}
	return lines
}

// RefusedKinds lists the kinds that could not be read.
func RefusedKinds(f release.Finding) []string { return slices.Sorted(maps.Keys(f.Refused)) }

func more(others int) string {
	if others == 0 {
		return ""
	}
	return fmt.Sprintf(" (and %d more)", others)
}
