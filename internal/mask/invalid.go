package mask

import (
	"regexp"
	"strings"
)

// quoting matches the text before a quoted value that an API server refuses (k8s.io/apimachinery,
// pkg/util/validation/field, ErrorBody).
var quoting = regexp.MustCompile(`(Invalid value|Unsupported value|Duplicate value): `)

// withoutInvalidValues removes the values that API servers quote, so that the field and the reason
// remain. Numbers and booleans stay. If a value has no end, the rest of the text is removed.
func withoutInvalidValues(text string) string {
	var written strings.Builder
	for {
		at := quoting.FindStringIndex(text)
		if at == nil {
			written.WriteString(text)
			return written.String()
		}
		length := quotedLength(text[at[1]:])
		if length == 0 {
			written.WriteString(text[:at[1]])
			text = text[at[1]:]
			continue
		}
		rest := text[at[1]+length:]
		written.WriteString(text[:at[1]-len(": ")])
		if rest != "" && !strings.HasPrefix(rest, ": ") {
			written.WriteString(" ")
		}
		text = strings.TrimLeft(rest, " ")
	}
}

// quotedLength returns the length of the value at the beginning of a text: a quoted text, an
// object, a list or a Go literal. It returns 0 for anything else.
func quotedLength(text string) int {
	if length := nameLength(text); length < len(text) && strings.IndexByte("{[(", text[length]) >= 0 {
		return length + balanced(text[length:])
	}
	if text != "" && (text[0] == '"' || text[0] == '`' || text[0] == '\'') {
		return literal(text)
	}
	const escaped = `\"` // The message is quoted itself.
	if after, ok := strings.CutPrefix(text, escaped); ok {
		if end := strings.Index(after, escaped); end >= 0 {
			return end + 2*len(escaped)
		}
		return len(text)
	}
	return 0
}

// nameLength returns the length of the type of a Go literal, such as map[string]interface {}.
func nameLength(text string) int {
	end := 0
	for end < len(text) && (isLetter(text[end]) || strings.IndexByte(".*&/[]-", text[end]) >= 0) {
		end++
	}
	switch rest := text[end:]; {
	case end > 0 && strings.HasPrefix(rest, " {}"): // map[string]interface {}{…}
		return end + len(" {}")
	case strings.HasPrefix(text, "["):
		if closing := strings.IndexAny(rest, "{("); closing == 0 {
			return end // []string{…}
		}
		return 0
	}
	return end
}

// balanced returns the length of a text in brackets, or the whole length if the brackets do not
// end.
func balanced(text string) int {
	depth := 0
	for i := 0; i < len(text); {
		switch text[i] {
		case '"', '`':
			i += literal(text[i:])
			continue
		case '{', '[', '(':
			depth++
		case '}', ']', ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return len(text)
}

// literal returns the length of a text in quotes, or the whole length if the quotes do not end.
func literal(text string) int {
	quote := text[0]
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote != '`':
			i++
		case text[i] == quote:
			return i + 1
		}
	}
	return len(text)
}
