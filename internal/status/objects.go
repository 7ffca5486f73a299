package status

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// Counts are the numbers of objects of deployments. Every object counts once, with its worst
// condition.
type Counts struct {
	Ready    int
	NotReady int
	Modified int
	Missing  int
	// NotOwned objects belong to another release, and count for that release.
	NotOwned int
	// Unknown objects were not inspected.
	Unknown int
}

// Desired returns how many objects there should be.
func (c Counts) Desired() int { return c.Ready + c.NotReady + c.Modified + c.Missing + c.Unknown }

// Drifted reports whether an object is missing or differs from what was deployed.
func (c Counts) Drifted() bool { return c.Modified+c.Missing > 0 }

// Plus returns the sums of two Counts.
func (c Counts) Plus(other Counts) Counts {
	return Counts{
		Ready: c.Ready + other.Ready, NotReady: c.NotReady + other.NotReady, Modified: c.Modified + other.Modified,
		Missing: c.Missing + other.Missing, NotOwned: c.NotOwned + other.NotOwned, Unknown: c.Unknown + other.Unknown,
	}
}

// Unseen returns the Counts of the same objects if none of them can be inspected.
func (c Counts) Unseen() Counts { return Counts{Unknown: c.Desired() + c.NotOwned} }

// WithoutReading returns the Counts of the same objects if only the number of objects that are
// not ready is known.
func (c Counts) WithoutReading(notReady int) Counts {
	all := c.Desired() + c.NotOwned
	notReady = min(notReady, all)
	return Counts{Ready: all - notReady, NotReady: notReady}
}

// CountsOf returns the Counts of a finding.
func CountsOf(f release.Finding) Counts {
	counts := Counts{
		Ready: f.Ready, NotReady: len(f.NotReady), Modified: len(f.Modified), Missing: len(f.Missing), NotOwned: len(f.NotOwned),
	}
	for _, number := range f.Refused {
		counts.Unknown += number
	}
	return counts
}

// FactsOf returns which objects of a finding are not ready, and which differ. In a finding, an object
// that is both modified and not ready is only listed as modified.
func FactsOf(found release.Finding) Facts {
	var f Facts
	if len(found.NotReady) > 0 {
		first := found.NotReady[0]
		f.NotReady = Message("not ready: " + shownName(found, first.Object) + " is " + first.Reason + more(len(found.NotReady)-1))
	}
	if drift := Drift(found); len(drift) > 0 {
		f.Drift = Message(drift[0] + more(len(drift)-1))
	}
	return f
}

// maxUnready is the maximum number of objects that Unready names for a deployment.
const maxUnready = 5

// Unready lists objects that are not ready, one per line, and the number of further ones.
func Unready(f release.Finding) []string {
	var lines []string
	for _, object := range f.NotReady[:min(len(f.NotReady), maxUnready)] {
		lines = append(lines, shownName(f, object.Object)+" is "+object.Reason)
	}
	if left := len(f.NotReady) - len(lines); left > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", left))
	}
	return lines
}

// Drift lists the objects that differ from those that were deployed, one per line, without any
// value.
func Drift(f release.Finding) []string {
	lines := make([]string, 0, len(f.Missing)+len(f.Modified)+len(f.NotOwned))
	for _, object := range f.Missing {
		lines = append(lines, shownName(f, object)+" is missing")
	}
	for _, object := range f.Modified {
		paths := make([]string, len(object.Differences))
		for i, difference := range object.Differences {
			paths[i] = difference.Path
		}
		lines = append(lines, fmt.Sprintf("%s differs at %s", shownName(f, object.Object), strings.Join(paths, ", ")))
	}
	for _, object := range f.NotOwned {
		lines = append(lines, fmt.Sprintf("%s belongs to release %s", shownName(f, object.Object), object.Owner))
	}
	return lines
}

// shownName returns an object as a text names it.
func shownName(f release.Finding, object string) string {
	if f.HidesNames {
		return "an object"
	}
	return object
}

// RefusedKinds lists the kinds that could not be read.
func RefusedKinds(f release.Finding) []string { return slices.Sorted(maps.Keys(f.Refused)) }

func more(others int) string {
	if others == 0 {
		return ""
	}
	return fmt.Sprintf(" (and %d more)", others)
}
