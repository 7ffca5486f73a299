package mask

import (
	"encoding/binary"
	"slices"
	"strings"
	"unicode/utf8"
)

// longest is how many bytes of a value are compared. A text with the beginning of a longer value is
// hidden to the length of that value. This way memory does not grow with the files in Secrets.
const longest = 1 << 10

// pattern is one form of a value.
type pattern struct {
	text   string // at most longest bytes
	length int    // of the whole form
	// prefix is the index of the longest other pattern that this one begins with, or -1.
	prefix int
}

// index finds values in texts. Long values are sorted and found by their first bytes, so that the
// time depends on the text and hardly on the number of values.
type index struct {
	patterns []pattern
	// starts contains the range of the patterns that begin with the same bytes.
	starts map[uint64][2]int
	words  map[string]bool
}

func newIndex(values map[string]bool) *index {
	made := &index{starts: map[uint64][2]int{}, words: map[string]bool{}}
	long := map[string]int{}
	for value := range values {
		head := value[:min(len(value), longest)]
		for _, form := range forms(head) {
			switch {
			case len(form) >= Anywhere:
				rest := len(value) - len(head)
				long[form[:min(len(form), longest)]] = max(len(form)+rest, long[form])
			case len(form) >= Shortest:
				made.words[form] = true
			}
		}
	}
	made.patterns = make([]pattern, 0, len(long))
	for text, length := range long {
		made.patterns = append(made.patterns, pattern{text: text, length: length})
	}
	slices.SortFunc(made.patterns, func(a, b pattern) int { return strings.Compare(a.text, b.text) })
	var open []int
	for i := range made.patterns {
		at := &made.patterns[i]
		for len(open) > 0 && !strings.HasPrefix(at.text, made.patterns[open[len(open)-1]].text) {
			open = open[:len(open)-1]
		}
		at.prefix = -1
		if len(open) > 0 {
			at.prefix = open[len(open)-1]
		}
		open = append(open, i)
		key := startOf(at.text)
		from, known := made.starts[key]
		if !known {
			from[0] = i
		}
		made.starts[key] = [2]int{from[0], i + 1}
	}
	return made
}

func startOf(text string) uint64 { return binary.BigEndian.Uint64([]byte(text[:Anywhere])) }

// span is a part of a text.
type span struct {
	from, to int
	// word is true if the span is hidden as a whole word only.
	word bool
}

// find appends the parts of a text that have to be hidden to spans.
func (x *index) find(text string, spans []span) []span {
	if len(x.starts) > 0 {
		spans = x.findLong(text, spans)
	}
	if len(x.words) > 0 {
		spans = x.findWords(text, spans)
	}
	return spans
}

func (x *index) findLong(text string, spans []span) []span {
	var key uint64
	for i := range len(text) {
		key = key<<8 | uint64(text[i])
		from := i + 1 - Anywhere
		if from < 0 {
			continue
		}
		candidates, ok := x.starts[key]
		if !ok {
			continue
		}
		if length := x.longestAt(text[from:], candidates); length > 0 {
			spans = append(spans, span{from: from, to: min(from+length, len(text))})
		}
	}
	return spans
}

// longestAt returns the length of the longest value that a text begins with. The search starts at
// the greatest value that is not greater than the text. Each value that the text begins with is a
// prefix of that one.
func (x *index) longestAt(text string, candidates [2]int) int {
	low, high := candidates[0], candidates[1]
	after, exact := slices.BinarySearchFunc(x.patterns[low:high], text, func(p pattern, text string) int { return strings.Compare(p.text, text) })
	at := low + after
	if !exact {
		at--
	}
	if at < low {
		return 0
	}
	common := commonPrefix(x.patterns[at].text, text)
	for ; at >= 0; at = x.patterns[at].prefix {
		if len(x.patterns[at].text) <= common {
			return x.patterns[at].length
		}
	}
	return 0
}

func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

func (x *index) findWords(text string, spans []span) []span {
	for from := range len(text) {
		for length := Shortest; length < Anywhere && from+length <= len(text); length++ {
			to := from + length
			if x.words[text[from:to]] && IsWholeWord(text, from, to) {
				spans = append(spans, span{from: from, to: to, word: true})
			}
		}
	}
	return spans
}

// IsWholeWord reports whether a part of a text is not part of a longer word. A number must also not be
// part of an address, a version or a date.
func IsWholeWord(text string, from, to int) bool {
	if from > 0 && isLetter(text[from-1]) && isLetter(text[from]) {
		return false
	}
	if to < len(text) && isLetter(text[to-1]) && isLetter(text[to]) {
		return false
	}
	if strings.Trim(text[from:to], "0123456789") != "" {
		return true
	}
	joinedBefore := from > 1 && isJoint(text[from-1]) && isDigit(text[from-2])
	joinedAfter := to+1 < len(text) && isJoint(text[to]) && isDigit(text[to+1])
	return !joinedBefore && !joinedAfter
}

// isLetter treats every byte of a character beyond ASCII as a letter.
func isLetter(b byte) bool {
	return b == '_' || isDigit(b) || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || b >= utf8.RuneSelf
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

func isJoint(b byte) bool { return strings.IndexByte(".:-/", b) >= 0 }

// mergeSpans joins spans that overlap or touch. Words within public names stay.
func mergeSpans(text string, spans []span, public []string) []span {
	kept := protected(text, spans, public)
	spans = slices.DeleteFunc(spans, func(s span) bool {
		return s.word && slices.ContainsFunc(kept, func(k span) bool { return k.from <= s.from && s.to <= k.to })
	})
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	var joined []span
	for _, next := range spans {
		if last := len(joined) - 1; last >= 0 && next.from <= joined[last].to {
			joined[last].to = max(joined[last].to, next.to)
			continue
		}
		joined = append(joined, next)
	}
	return joined
}

// protected returns the positions of public names that contain a word that was found.
func protected(text string, spans []span, public []string) []span {
	words := map[string]bool{}
	for _, found := range spans {
		if found.word {
			words[text[found.from:found.to]] = true
		}
	}
	var kept []span
	for word := range words {
		for _, name := range public {
			if !strings.Contains(name, word) {
				continue
			}
			for from := 0; ; {
				at := strings.Index(text[from:], name)
				if at < 0 {
					break
				}
				from += at
				kept = append(kept, span{from: from, to: from + len(name)})
				from += len(name)
			}
		}
	}
	return kept
}

func replace(text string, hidden []span) string {
	var written strings.Builder
	end := 0
	for _, at := range hidden {
		written.WriteString(text[end:at.from])
		written.WriteString(Sensitive)
		end = at.to
	}
	written.WriteString(text[end:])
	return written.String()
}
