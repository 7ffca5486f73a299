package mask

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Word writes text without white space, so that a program can split the line that contains it.
// White space, characters that a terminal acts on, and "%" itself are percent-encoded. This is
// necessary because the author of a repository or a chart chooses its names.
func Word(text string) string {
	var written strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		if r == '%' || unicode.IsSpace(r) || Printable(text[:size]) != text[:size] {
			for _, octet := range []byte(text[:size]) {
				fmt.Fprintf(&written, "%%%02X", octet)
			}
		} else {
			written.WriteString(text[:size])
		}
		text = text[size:]
	}
	return written.String()
}
