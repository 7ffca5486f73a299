package diff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// ChangeKind is how a deployment changes.
type ChangeKind int

// The kinds, in the order in which they are reported.
const (
	Removed ChangeKind = iota
	Modified
	Added
)

// Preview describes how the objects of one deployment change.
type Preview struct {
	Cluster, Bundle string
	Kind            ChangeKind
	// Notes are what a reader needs to understand the preview, each a sentence without a full stop.
	Notes []string
	// Listed is true if objects are named without their content.
	Listed bool
	// Brief leaves out the objects that are added or removed, because a plan shows them elsewhere.
	// Unlisted is true if the plan does not show objects.
	Brief, Unlisted bool
	Objects         []ObjectChange
}

// DeploymentDiff is the text of a preview, shortened to what is shown.
type DeploymentDiff struct {
	Cluster, Bundle string

	kind  ChangeKind
	title string
	lines []string
}

const (
	// maxLines is how many lines are shown for one deployment, and maxTotal for all together.
	maxLines = 100
	maxTotal = 400
	// maxBytes is how many bytes are shown of one line.
	maxBytes = 200
	// maxClusters is how many clusters are named for a diff that they share.
	maxClusters = 12
)

// shown returns the objects that a preview shows: removed ones first, then changed ones, then added
// ones.
func (p Preview) shown() []ObjectChange {
	shown := slices.Clone(p.Objects)
	if p.Brief {
		shown = slices.DeleteFunc(shown, func(o ObjectChange) bool { return !o.isModified() && !o.Stays && !o.Hook && !p.Unlisted })
	}
	slices.SortStableFunc(shown, func(a, b ObjectChange) int { return int(a.kind() - b.kind()) })
	return shown
}

func (c ObjectChange) isModified() bool { return c.kind() == Modified }

func (c ObjectChange) kind() ChangeKind {
	switch {
	case c.Before == "":
		return Added
	case c.After == "":
		return Removed
	}
	return Modified
}

// IsEmpty reports whether a brief preview has nothing to show.
func (p Preview) IsEmpty() bool { return p.Brief && len(p.shown()) == 0 }

// Diff returns the text of a preview.
func (p Preview) Diff() DeploymentDiff {
	p.Objects = p.shown()
	made := DeploymentDiff{Cluster: p.Cluster, Bundle: p.Bundle, kind: p.Kind, title: p.title()}
	for _, note := range p.Notes {
		made.lines = append(made.lines, "("+note+")")
	}
	var body []string
	begins := make([]int, len(p.Objects))
	for i, altered := range p.Objects {
		begins[i] = len(body)
		body = append(body, p.show(altered)...)
	}
	made.lines = append(made.lines, shortened(body, begins)...)
	return made
}

// Parts returns the diff for a report that shows the deployment separately: the notes of the diff,
// and its lines.
func (d DeploymentDiff) Parts() (notes []string, text string) {
	lines := d.lines
	for len(lines) > 0 && strings.HasPrefix(lines[0], "(") {
		notes = append(notes, strings.TrimSuffix(strings.TrimPrefix(lines[0], "("), ")"))
		lines = lines[1:]
	}
	return notes, strings.Join(lines, "\n")
}

// shortened leaves out the lines after maxLines, and states how many. begins contains the index of
// the first line of each object.
func shortened(lines []string, begins []int) []string {
	if len(lines) <= maxLines {
		return lines
	}
	unseen := 0
	for _, begin := range begins {
		if begin >= maxLines {
			unseen++
		}
	}
	rest := moreText(len(lines) - maxLines)
	if unseen > 0 {
		rest += ", with " + counted(unseen, "more object")
	}
	return append(slices.Clone(lines[:maxLines]), rest)
}

func moreText(lines int) string { return "... " + counted(lines, "line") + " left out" }

func counted(number int, thing string) string {
	if number == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", number, thing)
}

// title describes how a deployment changes, with numbers as in a summary.
func (p Preview) title() string {
	numbers := map[string]int{}
	for _, altered := range p.Objects {
		numbers[altered.sign()]++
	}
	kind := map[ChangeKind]string{Removed: " is removed", Modified: "", Added: " is added"}[p.Kind]
	if len(p.Objects) == 0 {
		return kind + ": no object changes"
	}
	var counts []string
	for _, sign := range []string{"+", "~", "-", "="} {
		if number := numbers[sign]; number > 0 {
			counts = append(counts, fmt.Sprintf("%s%d", sign, number))
		}
	}
	return kind + ": objects " + strings.Join(counts, " ")
}

// show returns the lines of one object.
func (p Preview) show(altered ObjectChange) []string {
	name := altered.Key
	if altered.Hook {
		name += ", a hook"
	}
	switch {
	case p.Listed, p.Kind != Modified, p.Brief && !altered.isModified():
		return []string{altered.sign() + " " + name + altered.ending()}
	case altered.Before == "":
		return whole("+", "@@ -0,0 +1,%d @@ "+name+", added", altered.After)
	case altered.After == "":
		return whole("-", "@@ -1,%d +0,0 @@ "+name+", removed"+altered.ending(), altered.Before)
	}
	if p.Brief {
		return brief(name, altered.Before, altered.After)
	}
	return unified(name, altered.Before, altered.After)
}

func (c ObjectChange) sign() string {
	switch {
	case c.Before == "":
		return "+"
	case c.After != "":
		return "~"
	case c.Stays:
		return "="
	}
	return "-"
}

func (c ObjectChange) ending() string {
	if c.Stays {
		return ", stays on the cluster (" + wellknown.ResourcePolicy + ": " + wellknown.KeepPolicy + ")"
	}
	return ""
}

func whole(sign, header, text string) []string {
	lines := linesOf(text)
	shown := make([]string, 0, len(lines)+1)
	shown = append(shown, fmt.Sprintf(header, len(lines)))
	for _, line := range lines {
		shown = append(shown, clipped(sign+line))
	}
	return shown
}

// contextLines is how many lines are shown around a change.
const contextLines = 3

// unified adds the name of the object to each of its hunks, as git adds the name of a function.
func unified(name, before, after string) []string {
	text, err := udiff.ToUnified("", "", before, udiff.Lines(before, after), contextLines)
	if err != nil {
		return []string{"@@ " + name + " @@", "... cannot be compared"} // Lines returns no invalid edits.
	}
	var shown []string
	for i, line := range linesOf(text) {
		switch {
		case i < 2: // The names of two files.
		case strings.HasPrefix(line, "@@"):
			shown = append(shown, line+" "+name)
		default:
			shown = append(shown, clipped(line))
		}
	}
	return shown
}

func linesOf(text string) []string {
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func clipped(line string) string {
	if len(line) <= maxBytes {
		return line
	}
	return fmt.Sprintf("%s... %d bytes left out", strings.ToValidUTF8(line[:maxBytes], ""), len(line)-maxBytes)
}
