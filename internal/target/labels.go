package target

import (
	"bytes"
	"encoding/json"
	"slices"
)

// MayReadLabel reports whether anything in the input can depend on the label of a cluster with a key: a
// selector of a rule, of a group or of a bundle, or a template, which may read all labels. It may report
// true for a key that only looks as if it were read.
func (in Input) MayReadLabel(key string) bool {
	quoted, err := json.Marshal(key)
	if err != nil {
		return true
	}
	// In JSON a selector has the key of a label in quotes. Which labels a template reads is not followed:
	// it can make a key of its parts.
	signs := [][]byte{quoted, []byte("${"), []byte(labelReference)}
	mentions := func(of any) bool {
		text, err := json.Marshal(of)
		return err != nil || slices.ContainsFunc(signs, func(sign []byte) bool { return bytes.Contains(text, sign) })
	}
	if mentions(in.Rules) || mentions(in.Groups) {
		return true
	}
	for _, b := range in.Bundles {
		// Values that are decrypted stand beside the definition.
		if b.Secrets != nil || mentions(b.Definition) {
			return true
		}
	}
	return false
}
