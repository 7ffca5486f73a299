package target

import (
	"bytes"
	"encoding/json"
	"slices"
)

// MayReadLabel reports whether anything in the input can depend on the label of a cluster with a
// key: a selector of a rule, of a group or of a bundle, or a template. A template may read all
// labels. The result can be true for a key that nothing reads.
func (in Input) MayReadLabel(key string) bool {
	quoted, err := json.Marshal(key)
	if err != nil {
		return true
	}
	// In JSON a selector has the key of a label in quotes. Which labels a template reads is not
	// analyzed: a template can build a key from parts.
	signs := [][]byte{quoted, []byte("${"), []byte(labelReference)}
	mentions := func(of any) bool {
		text, err := json.Marshal(of)
		return err != nil || slices.ContainsFunc(signs, func(sign []byte) bool { return bytes.Contains(text, sign) })
	}
	if mentions(in.Rules) || mentions(in.Groups) {
		return true
	}
	for _, b := range in.Bundles {
		// Decrypted values are not in the definition.
		if b.HasSecrets() || mentions(b.Definition) {
			return true
		}
	}
	return false
}
