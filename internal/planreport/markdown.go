package planreport

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

const (
	// maxMarkdown is how many characters the Markdown may have: a comment on GitHub has at most
	// 65,536.
	maxMarkdown = 60_000
	// maxLeftOut is how many of these characters are reserved for the sentence about left-out
	// blocks.
	maxLeftOut = 400
	// maxNamed is how many clusters are named, and maxObjects how many objects.
	maxNamed, maxObjects = 12, 100
	// shortCommit is how many digits of a commit are shown.
	shortCommit = 10
	// maxDetail is how many bytes of a warning are shown.
	maxDetail = 4000
)

// block is a part of the Markdown that is shown as a whole or left out.
type block struct {
	text string
	// thing is the name under which a left-out block is counted, "" if it is not counted.
	thing string
}

// renderMarkdown returns text for a comment. The most important blocks are first. Blocks that do
// not fit are left out and counted.
func renderMarkdown(report Report) ([]byte, error) {
	blocks := summaryBlocks(report.Targets)
	for _, part := range []func(*Target) []block{bundleBlocks, stageBlocks, heldBlocks, changeBlocks, warningBlocks} {
		for i := range report.Targets {
			blocks = append(blocks, part(&report.Targets[i])...)
		}
	}
	return []byte(joined(blocks)), nil
}

// joined returns the text of the blocks that fit, and how many blocks are left out.
func joined(blocks []block) string {
	var text strings.Builder
	room := maxMarkdown - maxLeftOut
	for i, b := range blocks {
		if room -= utf8.RuneCountInString(b.text); room < 0 {
			text.WriteString("\n" + leftOut(blocks[i:]) + "\n")
			break
		}
		text.WriteString(b.text)
	}
	return text.String()
}

func leftOut(blocks []block) string {
	numbers := map[string]int{}
	var things []string
	for _, b := range blocks {
		if b.thing == "" {
			continue
		}
		if numbers[b.thing] == 0 {
			things = append(things, b.thing)
		}
		numbers[b.thing]++
	}
	for i, thing := range things {
		things[i] = status.Number(numbers[thing], thing)
	}
	return "**Left out**, because a comment is limited: " + cmp.Or(strings.Join(things, ", "), "a heading") + ". The HTML and the JSON have everything."
}

func summaryBlocks(targets []Target) []block {
	blocks := []block{{text: "## Fleet plan\n\n| target | + added | ~ changed | » taken over | − removed | = kept | ‖ held | ? unknown | warnings |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n"}}
	for i := range targets {
		t := &targets[i]
		s := t.Summary
		operation := map[Operation]string{Create: " (created)", Destroy: " (destroyed)"}[t.Operation]
		blocks = append(blocks, block{thing: "target", text: fmt.Sprintf("| %s%s | %d | %d | %d | %d | %d | %d | %d | %d |\n",
			code(t.Name), operation, s.Add, s.Change-s.TakenOver, s.TakenOver, s.Remove, s.Keep, s.Held, s.Unknown, len(t.Warnings))})
	}
	for i := range targets {
		if targets[i].Unknown != "" {
			blocks = append(blocks, block{thing: "note", text: fmt.Sprintf("\nNothing of target %s is known before the apply. Not known yet: %s.\n",
				code(targets[i].Name), code(targets[i].Unknown))})
		}
	}
	return blocks
}

// bundleBlocks returns a table of the bundles that change, with their clusters.
func bundleBlocks(t *Target) []block {
	clusters := map[string]map[Action][]string{}
	for _, d := range t.Deployments {
		if d.Action == Keep {
			continue
		}
		if clusters[d.Bundle] == nil {
			clusters[d.Bundle] = map[Action][]string{}
		}
		clusters[d.Bundle][d.shown()] = append(clusters[d.Bundle][d.shown()], d.Cluster)
	}
	if len(clusters) == 0 {
		return []block{{text: "\nTarget " + code(t.Name) + ": no deployment changes.\n"}}
	}
	blocks := []block{{text: "\n### Target " + code(t.Name) + "\n\n| bundle | what | clusters |\n|---|---|---|\n"}}
	for _, bundle := range t.Bundles {
		for _, action := range []Action{Remove, takenOver, Change, Add, Held, Unknown} {
			if of := clusters[bundle][action]; len(of) > 0 {
				blocks = append(blocks, block{thing: "line about bundles", text: fmt.Sprintf("| %s | %s | %s |\n", code(bundle), markOf(action), named(of))})
			}
		}
	}
	return blocks
}

// takenOver is shown in place of the action of a deployment that is taken over. It is in no report as
// an Action.
const takenOver = "taken over"

func (d *Deployment) shown() Action {
	if d.TakenOver && d.Action == Change {
		return takenOver
	}
	return d.Action
}

func markOf(action Action) string {
	marks := map[Action]string{
		takenOver: "» taken over", Add: "+ added", Change: "~ changed", Remove: "− removed", Keep: "= kept", Held: "‖ held",
	}
	return cmp.Or(marks[action], "? unknown")
}

func named(clusters []string) string {
	names := make([]string, 0, len(clusters))
	for i, cluster := range clusters {
		if i == maxNamed && len(clusters) > maxNamed+1 {
			return fmt.Sprintf("%s and %d more", strings.Join(names, ", "), len(clusters)-maxNamed)
		}
		names = append(names, code(cluster))
	}
	return strings.Join(names, ", ")
}

func stageBlocks(t *Target) []block {
	if len(t.Stages) < 2 {
		return nil
	}
	blocks := []block{{text: "\nStages of target " + code(t.Name) + ":\n\n"}}
	for i, stage := range t.Stages {
		blocks = append(blocks, block{thing: "stage", text: fmt.Sprintf("%d. %s\n", i+1, code(stage.Text))})
	}
	return blocks
}

func heldBlocks(t *Target) []block {
	held := map[string][]string{}
	for _, d := range t.Deployments {
		if d.Action == Held {
			held[d.Reason] = append(held[d.Reason], d.Cluster+"/"+d.Bundle)
		}
	}
	if len(held) == 0 {
		return nil
	}
	blocks := []block{{text: "\nHeld deployments of target " + code(t.Name) + ":\n\n"}}
	for _, reason := range slices.Sorted(maps.Keys(held)) {
		blocks = append(blocks, block{thing: "reason", text: fmt.Sprintf("- %s: %s\n", named(held[reason]), code(mask.WithoutMiddle(mask.PrintableLine(reason), maxDetail)))})
	}
	return blocks
}

// sameChange are the deployments of a bundle that have the same change.
type sameChange struct {
	of       Deployment
	clusters []string
}

// changeBlocks returns the changes in objects. A change that is the same on several clusters is one
// block.
func changeBlocks(t *Target) []block {
	var changes []*sameChange
	known := map[string]*sameChange{}
	for _, d := range t.Deployments {
		if !slices.Contains([]Action{Remove, Change, Add}, d.Action) {
			continue
		}
		id := fmt.Sprintf("%s\n%s\n%s\n%q\n%s", d.Bundle, d.shown(), d.Diff, d.Notes, objectLines(d.Objects))
		if known[id] == nil {
			known[id] = &sameChange{of: d}
			changes = append(changes, known[id])
		}
		known[id].clusters = append(known[id].clusters, d.Cluster)
	}
	order := map[Action]int{Remove: 0, takenOver: 1, Change: 2, Add: 3}
	slices.SortStableFunc(changes, func(a, b *sameChange) int {
		return cmp.Or(order[a.of.shown()]-order[b.of.shown()], strings.Compare(a.of.Bundle, b.of.Bundle))
	})
	blocks := make([]block, len(changes))
	for i, change := range changes {
		blocks[i] = block{thing: "diff", text: t.details(change)}
	}
	return blocks
}

func (t *Target) details(change *sameChange) string {
	var text strings.Builder
	d := &change.of
	mark, _, _ := strings.Cut(markOf(d.shown()), " ")
	fmt.Fprintf(&text, "\n<details><summary>%s %s on %s: %s</summary>\n\n", mark, code(d.Bundle), named(change.clusters), d.objectsText())
	var lines []string
	for _, s := range t.Sources {
		if d.Action == Remove {
			s.CommitAfter = ""
			s.Subject = ""
			s.Author = ""
		}
		if s.Bundle == d.Bundle && s.CommitBefore+s.CommitAfter != "" {
			lines = append(lines, "- commit "+s.text()+"\n")
		}
	}
	for _, note := range d.Notes {
		lines = append(lines, "- "+code(mask.PrintableLine(note))+"\n")
	}
	text.WriteString(strings.Join(lines, ""))
	if shown := d.text(t.Diffs[d.Diff]); shown != "" {
		if len(lines) > 0 {
			text.WriteString("\n")
		}
		text.WriteString(fenced("diff", shown))
	}
	text.WriteString("\n</details>\n")
	return text.String()
}

func (s *Source) text() string {
	var commits []string
	for _, commit := range []string{s.CommitBefore, s.CommitAfter} {
		if commit != "" {
			commits = append(commits, code(commit[:min(shortCommit, len(commit))]))
		}
	}
	text := strings.Join(slices.Compact(commits), " → ")
	if s.Subject != "" {
		text += " " + code(s.Subject)
	}
	if s.Author != "" {
		text += " by " + code(s.Author)
	}
	return text
}

func (d *Deployment) objectsText() string {
	if d.ObjectsUnknown {
		return "objects known after the apply"
	}
	counts := map[ObjectChange]int{}
	for _, object := range d.Objects {
		counts[object.Change]++
	}
	var parts []string
	for _, of := range []struct {
		sign   string
		change ObjectChange
	}{{"+", ObjectAdded}, {"~", ObjectChanged}, {"−", ObjectRemoved}, {"?", ObjectUnknown}} {
		if number := counts[of.change]; number > 0 {
			parts = append(parts, fmt.Sprintf("%s%d", of.sign, number))
		}
	}
	if len(parts) == 0 {
		return "no object changes"
	}
	return "objects " + strings.Join(parts, " ")
}

// text returns the diff of a deployment, or else a line for each object that changes. The diff of an
// upgrade can leave out objects that are removed or added, so their lines are before and after it.
func (d *Deployment) text(diff string) string {
	if diff == "" || d.Action != Change {
		return cmp.Or(diff, objectLines(d.Objects))
	}
	var removed, added []Object
	for _, object := range d.Objects {
		switch {
		case object.Change == ObjectAdded:
			added = append(added, object)
		case object.Change == ObjectRemoved && !strings.Contains("\n"+diff, "\n= "+object.Key+", stays "):
			removed = append(removed, object)
		}
	}
	parts := []string{objectLines(removed), diff, objectLines(added)}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "\n\n")
}

// objectLines returns a line for each object.
func objectLines(objects []Object) string {
	signs := map[ObjectChange]string{ObjectAdded: "+ ", ObjectChanged: "~ ", ObjectRemoved: "- ", ObjectUnknown: "? "}
	lines := make([]string, 0, len(objects))
	for i, object := range objects {
		if i == maxObjects {
			lines = append(lines, "... "+status.Number(len(objects)-i, "more object"))
			break
		}
		lines = append(lines, signs[object.Change]+object.Key)
	}
	return strings.Join(lines, "\n")
}

func warningBlocks(t *Target) []block {
	blocks := make([]block, 0, len(t.Warnings))
	for _, warning := range t.Warnings {
		blocks = append(blocks, block{thing: "warning", text: fmt.Sprintf("\n<details><summary>Warning: %s</summary>\n\n%s\n</details>\n",
			code(mask.WithoutMiddle(mask.PrintableLine(warning.Summary), maxDetail)), fenced("text", mask.WithoutMiddle(warning.Detail, maxDetail)))})
	}
	return blocks
}

// fenced returns a block of code. Its fence is longer than any run of backticks in text, so that
// nothing in text ends the block. Nothing in text is read as Markdown or HTML.
func fenced(language, text string) string {
	longest, run := 0, 0
	for _, r := range text {
		if r != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", max(3, longest+1))
	return fence + language + "\n" + text + "\n" + fence + "\n"
}

// code returns a text within a line. GitHub makes no mention and no link of text in <code>.
// Characters with a meaning in Markdown or HTML are written as character references, which are text
// in both.
func code(text string) string {
	const plain = "-/,=. "
	isLink := strings.Contains(strings.ToLower(text), "www")
	var written strings.Builder
	written.WriteString("<code>")
	for _, r := range text {
		switch {
		case r == '\n' || r == '\t':
			written.WriteByte(' ')
		case r > '~', '0' <= r && r <= '9', 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', strings.ContainsRune(plain, r) && (r != '.' || !isLink):
			written.WriteRune(r)
		default:
			fmt.Fprintf(&written, "&#%d;", r)
		}
	}
	written.WriteString("</code>")
	return written.String()
}
