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

// digestVersion is the prefix of every digest. Another algorithm gets another version, so that
// digests of different algorithms are never equal.
const digestVersion = "v1"

// digest covers the name, the definition and the files of b. It is cut to 32 digits, so that it
// fits into a Kubernetes label value.
func digest(b Bundle) (string, error) {
	definition, err := json.Marshal(b.Definition) // Keys of maps are sorted.
	if err != nil {
		return "", fmt.Errorf("computing the digest of bundle %s: %w", b.Name, err)
	}
	sum := sha256.New()
	writePart(sum, []byte("bundle "+digestVersion))
	writePart(sum, []byte(b.Name))
	writePart(sum, definition)
	writeFiles(sum, b.Files)
	return digestOf(sum), nil
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
	sum := sha256.New()
	writePart(sum, []byte("content "+digestVersion))
	writePart(sum, []byte(b.Name))
	writeFiles(sum, b.Files)
	return digestOf(sum)
}

func digestOf(sum hash.Hash) string {
	return digestVersion + "-" + hex.EncodeToString(sum.Sum(nil))[:32]
}

func writeFiles(sum hash.Hash, files []File) {
	for _, file := range files {
		writePart(sum, []byte(file.Name))
		writePart(sum, file.Content)
	}
}

// writePart writes the length of part before it, so that the end of one part cannot be read as
// the beginning of the next.
func writePart(sum hash.Hash, part []byte) {
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(part)))
	sum.Write(length[:])
	sum.Write(part)
}
