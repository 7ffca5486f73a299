package diff

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Shown is a text of others as it may leave the provider: without secret values, and printable.
func (m *Masker) Shown(text string) string { return Printable(m.Text(text)) }

// Printable writes what a terminal or an editor acts on so that it can be read: control
// characters but tabs and line breaks, escape sequences, marks of the direction of writing,
// characters without width, and bytes that are no UTF-8.
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

// PrintableLine is Printable for a text that is to stay on one line, such as a name.
func PrintableLine(text string) string {
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(Printable(text))
}

func isActive(r rune) bool {
	switch r {
	case '\n', '\t':
		return false
	case '\u2028', '\u2029', '\u115f', '\u1160', '\u3164', '\uffa0': // Line breaks, and letters that show nothing.
		return true
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r)
}

// LastLine returns the last line of a text that is not empty, to a length in bytes.
func LastLine(text string, limit int) string {
	text = strings.TrimSpace(text)
	text = strings.TrimSpace(text[strings.LastIndexAny(text, "\r\n")+1:])
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}

// WithoutMiddle returns a text of at most limit bytes: of a longer one the beginning and the
// end, and how much is between them. It is for texts that were masked before, as half a secret
// is not recognized.
func WithoutMiddle(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	const marked = 48 // bytes for what stands in place of the middle
	beginning, end := (limit-marked)*2/3, (limit-marked)/3
	return fmt.Sprintf("%s … (%d bytes left out) … %s",
		strings.ToValidUTF8(text[:beginning], ""), len(text)-beginning-end, strings.ToValidUTF8(text[len(text)-end:], ""))
}
