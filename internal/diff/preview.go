package diff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// Fate is what becomes of a deployment.
type Fate int

// The fates, in the order in which they are reported.
const (
	Goes Fate = iota
	Changes
	Comes
)

// Preview is what a change makes of the objects of one deployment.
type Preview struct {
	Cluster, Bundle string
	Fate            Fate
	// Remarks are what has to be known to read it, each a sentence without a full
	// stop.
	Remarks []string
	// Listed says that objects are named and their content is not shown.
	Listed      bool
	Alterations []Alteration
}

// DeploymentDiff is the text of a preview, as much of it as is to be shown.
type DeploymentDiff struct {
	cluster, bundle string
	fate            Fate
	title           string
	lines           []string
}

const (
	// mostLines are shown of one deployment, and mostInAll of all together.
	mostLines = 100
	mostInAll = 400
	// mostBytes are shown of one line.
	mostBytes = 200
	// mostClusters are named beside a diff that they share.
	mostClusters = 12
)

// Diff words a preview.
func (p Preview) Diff() DeploymentDiff {
	made := DeploymentDiff{cluster: p.Cluster, bundle: p.Bundle, fate: p.Fate, title: p.title()}
	for _, remark := range p.Remarks {
		made.lines = append(made.lines, "("+remark+")")
	}
	var body []string
	begins := make([]int, len(p.Alterations))
	for i, altered := range p.Alterations {
		begins[i] = len(body)
		body = append(body, p.show(altered)...)
	}
	made.lines = append(made.lines, shortened(body, begins)...)
	return made
}

// shortened leaves out what is too much, and says how much that is. begins are the
// places where objects begin.
func shortened(lines []string, begins []int) []string {
	if len(lines) <= mostLines {
		return lines
	}
	unseen := 0
	for _, begin := range begins {
		if begin >= mostLines {
			unseen++
		}
	}
	rest := moreText(len(lines) - mostLines)
	if unseen > 0 {
		rest += ", with " + counted(unseen, "more object")
	}
	return append(slices.Clone(lines[:mostLines]), rest)
}

func moreText(lines int) string { return "... " + counted(lines, "line") + " left out" }

func counted(number int, thing string) string {
	if number == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", number, thing)
}

// title says what becomes of a deployment, with numbers as in a summary.
func (p Preview) title() string {
	var added, changed, removed, stay int
	for _, altered := range p.Alterations {
		switch {
		case altered.Before == "":
			added++
		case altered.After != "":
			changed++
		case altered.Stays:
			stay++
		default:
			removed++
		}
	}
	fate := map[Fate]string{Goes: " is removed", Changes: "", Comes: " is added"}[p.Fate]
	if len(p.Alterations) == 0 {
		return fate + ": no object changes"
	}
	var counts []string
	for _, of := range []struct {
		sign   string
		number int
	}{{"+", added}, {"~", changed}, {"-", removed}, {"=", stay}} {
		if of.number > 0 {
			counts = append(counts, fmt.Sprintf("%s%d", of.sign, of.number))
		}
	}
	return fate + ": objects " + strings.Join(counts, " ")
}

// show are the lines of one object.
func (p Preview) show(altered Alteration) []string {
	name := altered.Key
	if altered.Hook {
		name += ", a hook"
	}
	switch {
	case p.Listed || p.Fate != Changes:
		return []string{altered.sign() + " " + name + altered.ending()}
	case altered.Before == "":
		return whole("+", "@@ -0,0 +1,%d @@ "+name+", added", altered.After)
	case altered.After == "":
		return whole("-", "@@ -1,%d +0,0 @@ "+name+", removed"+altered.ending(), altered.Before)
	}
	return unified(name, altered.Before, altered.After)
}

func (a Alteration) sign() string {
	switch {
	case a.Before == "":
		return "+"
	case a.After != "":
		return "~"
	case a.Stays:
		return "="
	}
	return "-"
}

func (a Alteration) ending() string {
	if a.Stays {
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

// contextLines are shown around what changes.
const contextLines = 3

// unified names the object at each of its hunks, as git names functions.
func unified(name, before, after string) []string {
	text, err := udiff.ToUnified("", "", before, udiff.Lines(before, after), contextLines)
	if err != nil {
		return []string{"@@ " + name + " @@", "... cannot be compared"} // Lines gives no edits that do not fit.
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
	if len(line) <= mostBytes {
		return line
	}
	return fmt.Sprintf("%s... %d bytes left out", strings.ToValidUTF8(line[:mostBytes], ""), len(line)-mostBytes)
}
