package mask

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
)

// forms returns the ways in which a value is written.
func forms(value string) []string {
	written := append(escaped(value), value)
	written = append(written, aligned(value)...)
	return written
}

// escaped returns the forms in URLs, in JSON, in JSON within JSON, and in quoted Go strings. Most
// programs write <, > and & in JSON as they are.
func escaped(value string) []string {
	literal := strconv.Quote(value)
	found := []string{url.QueryEscape(value), url.PathEscape(value), literal[1 : len(literal)-1]}
	for _, html := range []bool{false, true} {
		once := inJSON(value, html)
		found = append(found, once, inJSON(once, false), inJSON(once, true))
	}
	return found
}

func inJSON(value string, html bool) string {
	var written strings.Builder
	encoder := json.NewEncoder(&written)
	encoder.SetEscapeHTML(html)
	if encoder.Encode(value) != nil {
		return value
	}
	return strings.TrimSuffix(strings.TrimPrefix(written.String(), `"`), "\"\n")
}

// aligned returns the forms in base64: of the value alone, and of the value after other bytes,
// which has three alignments. Digits that also contain bits of a neighbouring byte are left out.
func aligned(value string) []string {
	var found []string
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		whole := encoding.EncodeToString([]byte(value))
		found = append(found, whole, strings.TrimRight(whole, "="), url.QueryEscape(whole))
		if len(value) < Anywhere {
			continue
		}
		const group, digits, bits, byteBits = 3, 4, 6, 8
		for before := range group {
			padded := make([]byte, before+len(value))
			copy(padded[before:], value)
			text := encoding.WithPadding(base64.NoPadding).EncodeToString(padded)
			first := (before*byteBits + bits - 1) / bits
			last := len(padded) * byteBits / bits
			found = append(found, text[first:last])
		}
	}
	return found
}
