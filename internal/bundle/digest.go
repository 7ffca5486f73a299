package bundle

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// DigestVersion is the prefix of every digest. Another algorithm gets another version, so that
// digests of different algorithms are never equal.
const DigestVersion = "v1"

// DigestOf returns a digest of parts. The length of each part is written before it, so that the end
// of one part cannot be read as the beginning of the next.
func DigestOf(parts ...[]byte) string {
	sum := sha256.New()
	for _, part := range parts {
		_ = binary.Write(sum, binary.BigEndian, uint64(len(part))) // A hash never fails.
		sum.Write(part)
	}
	return FormatDigest(sum)
}

// FormatDigest writes a sum as a digest. It is cut to 32 digits, so that it fits into a Kubernetes label
// value.
func FormatDigest(sum hash.Hash) string {
	return DigestVersion + "-" + hex.EncodeToString(sum.Sum(nil))[:32]
}

// digest covers the name, the definition and the files of b.
func digest(b Bundle) (string, error) {
	definition, err := json.Marshal(b.Definition) // Keys of maps are sorted.
	if err != nil {
		return "", fmt.Errorf("computing the digest of bundle %s: %w", b.Name, err)
	}
	return digestWithFiles(b.Files, "bundle "+DigestVersion, b.Name, string(definition)), nil
}

// ContentOf is Content for a release with these merged options: it leaves out the fetched charts
// that only other options name. Another version of a chart on one cluster must not change the
// release on another.
func (b Bundle) ContentOf(options *fleetyaml.Helm) string {
	own, _ := b.ChartDirectory(options)
	isForeign := func(file File) bool {
		return strings.HasPrefix(file.Name, fetchedDirectory+"/") && !strings.HasPrefix(file.Name, own+"/")
	}
	if !slices.ContainsFunc(b.Files, isForeign) {
		return b.Content
	}
	b.Files = slices.DeleteFunc(slices.Clone(b.Files), isForeign)
	return content(b)
}

// content covers the name and the files of b, without its definition.
func content(b Bundle) string {
	return digestWithFiles(b.Files, "content "+DigestVersion, b.Name)
}

func digestWithFiles(files []File, texts ...string) string {
	var parts [][]byte
	for _, text := range texts {
		parts = append(parts, []byte(text))
	}
	for _, file := range files {
		parts = append(parts, []byte(file.Name), file.Content)
	}
	return DigestOf(parts...)
}
