package source

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
)

// Content describes a bundle for people and policies, always in three words: chart and version,
// path, and the beginning of the digest, such as "web-1.0.0 apps/web ac881d87". The path of the
// root is ".".
func (e Element) Content() string {
	return strings.Join([]string{word(e.Chart + "-" + e.Version), word(cmp.Or(e.Path, ".")), word(bundle.ShortDigest(e.Digest))}, " ")
}

// word writes text without white space, so that others can split what it is part of: white space,
// characters that a terminal acts on, and "%" itself are percent-encoded. A repository chooses
// its names.
func word(text string) string {
	var written strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		if r == '%' || unicode.IsSpace(r) || diff.Printable(text[:size]) != text[:size] {
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
