package diff

import (
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
)

const (
	// fromHCL replaces a text from a Terraform configuration.
	fromHCL = "(from HCL)"
	// fromHCLChanged replaces such a text if it has changed.
	fromHCLChanged = "(from HCL, changed)"
)

// HCLText describes the texts in objects that are from a Terraform configuration. Each can be the
// value of a sensitive variable.
type HCLText struct {
	// All is true if any text can be from the configuration.
	All bool
	// Texts are the texts from the configuration, before a chart was rendered with them.
	Texts []string
}

// HCLSides are the texts in the objects before and after a change.
type HCLSides struct{ Before, After HCLText }

// hclMasker hides texts from a configuration. Names of objects stay: a plan shows them anyway.
type hclMasker struct {
	// hidesAll is true for a side on which every text is hidden.
	hidesAll struct{ before, after bool }

	public map[string]bool
	// whole contains the texts in lower case. They are hidden at any length.
	whole map[string]bool
	// parts finds the texts in longer texts.
	parts *mask.Masker
	// within contains all texts in lower case, to find the parts that a chart has cut from a text.
	within string
	// searched is how many bytes of within were searched so far.
	searched int
}

// maxSearched limits how many bytes are searched for the objects of one deployment. The search
// takes some tenths of a second. Any text after that is hidden.
const maxSearched = 1 << 30

func newHCLMasker(of HCLSides, names []string) *hclMasker {
	m := &hclMasker{public: map[string]bool{}, whole: map[string]bool{}, parts: &mask.Masker{}}
	m.hidesAll.before, m.hidesAll.after = of.Before.All, of.After.All
	m.parts.Publish(names...)
	for _, name := range names {
		m.public[name] = true
	}
	var within strings.Builder
	for _, text := range slices.Concat(of.Before.Texts, of.After.Texts) {
		m.add(text, &within)
	}
	m.within = within.String()
	return m
}

func (m *hclMasker) add(text string, within *strings.Builder) {
	trimmed := strings.TrimSpace(text)
	lower := strings.ToLower(trimmed)
	if trimmed == "" || mask.IsWord(trimmed) || m.public[trimmed] || m.whole[lower] {
		return
	}
	m.whole[lower] = true
	within.WriteString(lower)
	within.WriteByte(0)
	for _, form := range []string{text, lower, strings.ToUpper(trimmed)} {
		m.parts.AddValue(form)
	}
}

// mask hides texts in an object before and after a change. Either can be nil.
func (m *hclMasker) mask(before, after map[string]any) { pairs{m.maskTexts}.object(before, after) }

// maskTexts masks a value before and after a change. A text that is the same on both sides and
// public on one of them is public.
func (m *hclMasker) maskTexts(was, is any) (maskedWas, maskedIs any) {
	before, isBefore := was.(string)
	after, isAfter := is.(string)
	same := isBefore && isAfter && before == after
	allBefore, allAfter := m.hidesAll.before, m.hidesAll.after
	if same {
		allBefore, allAfter = allBefore && allAfter, allBefore && allAfter
	}
	maskedWas, maskedIs = was, is
	if isBefore {
		maskedWas = m.text(before, allBefore)
	}
	if isAfter {
		maskedIs = m.text(after, allAfter)
	}
	if text, ok := maskedIs.(string); ok && isAfter && was != nil && !same {
		maskedIs = markChanged(before, after, text)
	}
	return maskedWas, maskedIs
}

// markChanged marks the masked lines that have changed.
func markChanged(before, after, masked string) string {
	was := strings.Split(before, "\n")
	is := strings.Split(after, "\n")
	shown := strings.Split(masked, "\n")
	if len(is) != len(shown) || len(was) != len(is) {
		return strings.Replace(masked, fromHCL, fromHCLChanged, 1)
	}
	for i := range shown {
		if was[i] != is[i] {
			shown[i] = strings.Replace(shown[i], fromHCL, fromHCLChanged, 1)
		}
	}
	return strings.Join(shown, "\n")
}

// text hides a single line as a whole. In a longer text it hides only the lines with something to
// hide.
func (m *hclMasker) text(text string, all bool) string {
	if m.isPublic(text) {
		return text
	}
	if all {
		return fromHCL
	}
	hasParts := m.parts.Hides(text)
	hides := hasParts || m.isText(text)
	switch {
	case !isLong(text) && hides:
		return fromHCL
	case !isLong(text):
		return text
	}
	if masked := m.lines(text, hasParts); masked != text || !hides {
		return masked
	}
	return fromHCL
}

// lines hides texts in the lines of a longer text. A line that is from a configuration, or is a
// part of such a text, is hidden as a whole. In any other line only the texts that were found are
// hidden.
func (m *hclMasker) lines(text string, hasParts bool) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		switch {
		case m.isPublic(line):
		case m.isText(line):
			lines[i] = indent + fromHCL
		case hasParts:
			lines[i] = strings.ReplaceAll(m.parts.Hide(line), mask.Sensitive, fromHCL)
		}
	}
	return strings.Join(lines, "\n")
}

// isPublic reports whether a text is empty or a word of YAML, is printed anyway, or is masked
// already.
func (m *hclMasker) isPublic(text string) bool {
	trimmed := strings.TrimSpace(text)
	return trimmed == "" || mask.IsWord(trimmed) || m.public[trimmed] || trimmed == mask.Sensitive || trimmed == maskedChanged
}

// isText reports whether a text is from a configuration, or is a part of such a text. A chart can
// cut a text, or read it as YAML.
func (m *hclMasker) isText(text string) bool {
	text = strings.ToLower(strings.TrimSpace(text))
	return m.whole[text] || m.isWithin(text)
}

func (m *hclMasker) isWithin(part string) bool {
	if len(part) < mask.Shortest {
		return false
	}
	for from := 0; ; from++ {
		if m.searched += len(m.within) - from; m.searched > maxSearched {
			return true
		}
		at := strings.Index(m.within[from:], part)
		if at < 0 {
			return false
		}
		from += at
		if len(part) >= mask.Anywhere || mask.IsWholeWord(m.within, from, from+len(part)) {
			return true
		}
	}
}
