package diff

import (
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// brief returns the changed lines of an object. The object and the path of the parents are above
// each hunk, such as "~ Deployment.apps/shop/web: spec.template.spec.containers[web]".
func brief(name, before, after string) []string {
	const around = 0
	changes, err := udiff.ToUnifiedDiff("", "", before, udiff.Lines(before, after), around)
	if err != nil {
		return []string{"~ " + name, "... cannot be compared"} // Lines returns no invalid edits.
	}
	was, is := linesOf(before), linesOf(after)
	var shown []string
	last := ""
	for _, hunk := range changes.Hunks {
		path := parentsOf(was, hunk.FromLine-1)
		if hunk.Lines[0].Kind == udiff.Insert {
			path = parentsOf(is, hunk.ToLine-1)
		}
		head := "~ " + name
		if path != "" {
			head += ": " + path
		}
		if head != last {
			shown, last = append(shown, clipped(head)), head
		}
		shown = append(shown, changedLines(hunk)...)
	}
	return shown
}

// changedLines returns the lines of a hunk, without the indentation that they have in common.
func changedLines(hunk *udiff.Hunk) []string {
	indent := -1
	for _, line := range hunk.Lines {
		if own := indentOf(line.Content); indent < 0 || own < indent {
			indent = own
		}
	}
	var shown []string
	for _, line := range hunk.Lines {
		sign := "- "
		if line.Kind == udiff.Insert {
			sign = "+ "
		}
		shown = append(shown, clipped(sign+strings.TrimSuffix(line.Content, "\n")[indent:]))
	}
	return shown
}

// parentsOf returns the path of the parents of a line of YAML, "" for a field of the object itself.
// The path contains the name of a list item, if the item has one: "spec.containers[web]". The YAML
// must be in the form of Content: two spaces a level, items of a list not indented.
func parentsOf(lines []string, at int) string {
	if at < 0 || at >= len(lines) {
		return ""
	}
	var path []string
	level, inList := indentOf(lines[at]), isItem(lines[at])
	for i := at - 1; i >= 0; i-- {
		indent := indentOf(lines[i])
		begins := isItem(lines[i])
		own := indent
		if begins {
			own += len(itemMark)
		}
		if own < level || inList && own == level {
			path = append(path, keyOfLine(lines[i]))
			level, inList = own, false
		}
		if begins && own == level && !inList {
			path = append(path, "["+nameOfItem(lines, i)+"]")
			level, inList = indent, true
		}
	}
	var text strings.Builder
	for _, parent := range slices.Backward(path) {
		if text.Len() > 0 && !strings.HasPrefix(parent, "[") {
			text.WriteString(".")
		}
		text.WriteString(parent)
	}
	return text.String()
}

// nameOfItem returns the name of the item of a list that begins in a line, "" if it has none.
func nameOfItem(lines []string, begin int) string {
	indent := indentOf(lines[begin])
	for i := begin; i < len(lines); i++ {
		line := lines[i]
		if i > begin && indentOf(line) <= indent {
			break
		}
		if field := line[min(indent+len(itemMark), len(line)):]; strings.HasPrefix(field, "name: ") {
			return strings.Trim(strings.TrimPrefix(field, "name: "), `"'`)
		}
	}
	return ""
}

func keyOfLine(line string) string {
	key, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), itemMark), ":")
	return strings.Trim(key, `"'`)
}

// itemMark begins an item of a list.
const itemMark = "- "

func isItem(line string) bool { return strings.HasPrefix(strings.TrimLeft(line, " "), itemMark) }

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
