package diff

import (
	"strings"
)

const (
	// fromHCL replaces a text that came from a Terraform configuration.
	fromHCL = "(from HCL)"
	// fromHCLChanged replaces one that is not as it was before.
	fromHCLChanged = "(from HCL, changed)"
)

// HCLText is what is known of the texts in objects that came from a Terraform configuration.
// Each can be the value of a sensitive variable.
type HCLText struct {
	// All says that any text can have come from there.
	All bool
	// Texts are those that did, before a chart was rendered with them.
	Texts []string
}

// HCLSides are the texts in the objects before and after a change.
type HCLSides struct{ Before, After HCLText }

// hclMasker hides texts from a configuration. Names of objects stay: a plan shows them anyway.
type hclMasker struct {
	// hidesAll says on which side any text is hidden.
	hidesAll struct{ before, after bool }

	public map[string]bool
	// whole are the texts in lower case. They are hidden whatever their length.
	whole map[string]bool
	// parts finds the texts in longer ones.
	parts *Masker
	// within are all texts in lower case, to find what a chart has cut from one.
	within string
}

func newHCLMasker(of HCLSides, names []string) *hclMasker {
	m := &hclMasker{public: map[string]bool{}, whole: map[string]bool{}, parts: &Masker{}}
	m.hidesAll.before, m.hidesAll.after = of.Before.All, of.After.All
	m.parts.Publish(names...)
	for _, name := range names {
		m.public[name] = true
	}
	var within strings.Builder
	for _, texts := range [][]string{of.Before.Texts, of.After.Texts} {
		for _, text := range texts {
			m.add(text, &within)
		}
	}
	m.within = within.String()
	return m
}

func (m *hclMasker) add(text string, within *strings.Builder) {
	trimmed := strings.TrimSpace(text)
	lower := strings.ToLower(trimmed)
	if trimmed == "" || isWord(trimmed) || m.public[trimmed] || m.whole[lower] {
		return
	}
	m.whole[lower] = true
	within.WriteString(lower)
	within.WriteByte(0)
	for _, form := range []string{text, lower, strings.ToUpper(trimmed)} {
		m.parts.addValue(form)
	}
}

// mask hides texts in an object as it was and as it is, either of which can be nil.
func (m *hclMasker) mask(before, after map[string]any) { pairs{m.maskTexts}.object(before, after) }

// maskTexts is for a value as it was and as it is. A text that is the same on both sides and
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

// markChanged marks what is masked and not as it was, line by line.
func markChanged(before, after, masked string) string {
	was, is, shown := strings.Split(before, "\n"), strings.Split(after, "\n"), strings.Split(masked, "\n")
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

// text hides a line as a whole, and of a longer text the lines that have something to hide.
func (m *hclMasker) text(text string, all bool) string {
	switch {
	case m.isPublic(text):
		return text
	case all:
		return fromHCL
	case !m.hides(text) && !isLong(text):
		return text
	case !isLong(text):
		return fromHCL
	}
	if masked := m.lines(text); masked != text || !m.hides(text) {
		return masked
	}
	return fromHCL
}

func (m *hclMasker) lines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if !m.isPublic(line) && m.hides(line) {
			lines[i] = line[:len(line)-len(strings.TrimLeft(line, " \t"))] + m.line(line)
		}
	}
	return strings.Join(lines, "\n")
}

// line hides what is in a line: what was found, or all of it where it was found in a text.
func (m *hclMasker) line(line string) string {
	line = strings.TrimSpace(line)
	if m.whole[strings.ToLower(line)] || m.isWithin(line) {
		return fromHCL
	}
	return strings.ReplaceAll(m.parts.hide(line), Sensitive, fromHCL)
}

// isPublic reports whether a text says nothing, is printed anyway or is masked already.
func (m *hclMasker) isPublic(text string) bool {
	trimmed := strings.TrimSpace(text)
	return trimmed == "" || isWord(trimmed) || m.public[trimmed] || trimmed == Sensitive || trimmed == maskedChanged
}

func (m *hclMasker) hides(text string) bool {
	return m.whole[strings.ToLower(strings.TrimSpace(text))] || m.isWithin(text) || m.parts.Hides(text)
}

// isWithin reports whether a text is a part of one from a configuration: a chart can cut it,
// or read it as YAML.
func (m *hclMasker) isWithin(text string) bool {
	part := strings.ToLower(strings.TrimSpace(text))
	if len(part) < shortest {
		return false
	}
	for from := 0; ; {
		at := strings.Index(m.within[from:], part)
		if at < 0 {
			return false
		}
		from += at
		if len(part) >= anywhere || isWhole(m.within, from, from+len(part)) {
			return true
		}
		from++
	}
}
