package release

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
)

// Rendering is what a deployment's templates give.
type Rendering struct {
	// Chart and Version are the name and version of the chart in the release.
	Chart   string
	Version string
	Objects []diff.Object
	// Documents are the same objects in full, and hooks; none where they are not known
	// before they are deployed.
	Documents []diff.Document
	// Irreproducible names what makes another rendering differ, such as a
	// template function that reads the clock. It is "" if all objects are known: if Varying is
	// empty and NamesVary is false.
	Irreproducible string
	// Varying are the keys of the objects whose content can differ, as Hashes has them.
	Varying map[string]bool
	// NamesVary says that there can be other objects, so that nothing is known.
	NamesVary bool
	// RenderEach says that each revision has to be rendered by itself: hooks or notes can
	// differ even if all objects are known.
	RenderEach bool
	// AsksCluster says that it does so only because it is not known what the cluster
	// can do.
	AsksCluster bool
	// NamesAskCluster says that NamesVary can be false as soon as that is known.
	NamesAskCluster bool
	// CRDs are hashes of the files below crds/, whose objects are in no manifest.
	CRDs []string
}

// Hashes maps the key of each object to its hash. Objects with equal keys, as
// a chart can render them by mistake, count together.
func (r Rendering) Hashes() map[string]string {
	hashes := make(map[string]string, len(r.Objects))
	for _, object := range r.Objects {
		key := object.Key()
		if previous, ok := hashes[key]; ok {
			hashes[key] = ShortHash([]byte(previous + object.Hash))
			continue
		}
		hashes[key] = object.Hash
	}
	return hashes
}

// KnownHashes are those of Hashes, with "" for objects whose content can differ. It is nil if
// there can be other objects.
func (r Rendering) KnownHashes() map[string]string {
	if r.NamesVary {
		return nil
	}
	hashes := r.Hashes()
	for key := range r.Varying {
		hashes[key] = ""
	}
	return hashes
}

// ErrOtherObjects is for a rendering that differs from the one of the plan.
var ErrOtherObjects = errors.New("the chart rendered objects that differ from the plan")

// KeepsPromise reports whether hashes are those that KnownHashes promised: of the same objects,
// and equal where they were known.
func KeepsPromise(hashes, promised map[string]string) bool {
	if len(hashes) != len(promised) {
		return false
	}
	for key, known := range promised {
		if hash, ok := hashes[key]; !ok || known != "" && hash != known {
			return false
		}
	}
	return true
}

// ShortHash is the hash shown for an object: the first 12 hexadecimal digits of
// the content's SHA-256.
func ShortHash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:6])
}
