package mask

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Shown returns a text from another source as it may leave the provider: without secret values, and
// printable.
func (m *Masker) Shown(text string) string { return Printable(m.Text(text)) }

// Printable escapes the characters on which a terminal or an editor acts. These are control
// characters except tabs and line breaks, escape sequences, marks of the direction of writing,
// characters without width, and bytes that are not UTF-8.
func Printable(text string) string {
	if strings.IndexFunc(text, isActive) < 0 && utf8.ValidString(text) {
		return text
	}
	var written strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&written, `\x%02x`, text[i])
		case r == '\r':
			written.WriteString(`\r`)
		case r < utf8.RuneSelf && isActive(r):
			fmt.Fprintf(&written, `\x%02x`, r)
		case isActive(r):
			fmt.Fprintf(&written, `\u%04x`, r)
		default:
			written.WriteRune(r)
		}
		i += size
	}
	return written.String()
}

// PrintableLine is Printable for a text that has to stay on one line, such as a name.
func PrintableLine(text string) string {
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(Printable(text))
}

func isActive(r rune) bool {
	switch r {
	case '\n', '\t':
		return false
	case '\u2028', '\u2029', '\u115f', '\u1160', '\u3164', '\uffa0': // Line breaks, and letters that are invisible.
		return true
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r)
}

// LastLine returns the last line of a text that is not empty, at most limit bytes of it.
func LastLine(text string, limit int) string {
	text = strings.TrimSpace(text)
	text = strings.TrimSpace(text[strings.LastIndexAny(text, "\r\n")+1:])
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}

// WithoutMiddle returns a text of at most limit bytes. It keeps the beginning and the end of a
// longer text, and states how many bytes it leaves out. The text must be masked before, because a
// masker does not recognize half a secret.
func WithoutMiddle(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	const marked = 48 // bytes for the text that replaces the middle
	beginning, end := (limit-marked)*2/3, (limit-marked)/3
	return fmt.Sprintf("%s … (%d bytes left out) … %s",
		strings.ToValidUTF8(text[:beginning], ""), len(text)-beginning-end, strings.ToValidUTF8(text[len(text)-end:], ""))
}
