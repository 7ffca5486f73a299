package release

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
)

// Rendering is the result of rendering a deployment's templates.
type Rendering struct {
	// Chart and Version are the name and version of the chart in the release.
	Chart   string
	Version string
	Objects []diff.Object
	// Documents are the same objects in full, and hooks. There are none if the objects are not
	// known before they are deployed.
	Documents []diff.Document
	// Irreproducible is the reason why another rendering can differ, such as a template function
	// that reads the clock. It is "" if all objects are known: if Varying is empty and NamesVary is
	// false.
	Irreproducible string
	// Varying contains the keys of the objects whose content can differ. They are keys of Hashes.
	Varying map[string]bool
	// NamesVary is true if another rendering can have other objects, so that no object is known.
	NamesVary bool
	// RenderEach is true if each revision has to be rendered separately: hooks or notes can differ
	// even if all objects are known.
	RenderEach bool
	// DependsOnCluster is true if the capabilities of the cluster are the only reason for
	// Irreproducible, because they are not known.
	DependsOnCluster bool
	// NamesDependOnCluster is true if NamesVary can become false when these capabilities are known.
	NamesDependOnCluster bool
	// HidesContent is true if templates had secret input, so that the content of the objects must not
	// be shown. HidesNames is true if their names must not be shown either.
	HidesContent, HidesNames bool
	// HiddenTexts are texts in objects that must not be printed.
	HiddenTexts []string
	// UnknownFields are fields of objects that API servers do not know.
	UnknownFields []UnknownField
	// UncheckedSchemas are the parts of schemas of the chart that are in other documents, which nothing
	// reads. The values are checked against the rest.
	UncheckedSchemas []string
	// CRDs are hashes of the files below crds/. A manifest does not contain their objects.
	CRDs []string
}

// Hashes maps the key of each object to its hash. Objects with equal keys, which a chart can render
// by mistake, get one common hash.
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

// NamedObjects returns the objects if their names are known and can be printed. It leaves out those
// whose names the API server generates.
func (r Rendering) NamedObjects() []diff.Object {
	if r.NamesVary || r.HidesNames {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.Objects), diff.Object.IsGenerated)
}

// KnownHashes returns the hashes of Hashes, with "" for objects whose content can differ. It
// returns nil if another rendering can have other objects.
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

// Unpredicted returns the rendering of a deployment whose last apply rendered other objects than its
// plan showed. No object of it is known.
func (r Rendering) Unpredicted() Rendering {
	r.Irreproducible = "its last apply rendered other objects than the plan had shown"
	r.Varying = nil
	r.NamesVary = true
	r.RenderEach = true
	return r
}

// ErrOtherObjects is the error of an apply whose rendering differs from that of its plan. It stops the
// apply of the deployment before anything is written.
var ErrOtherObjects = errors.New("the templates rendered other objects than the plan showed, so nothing was written: " +
	"their result depends on something that the provider cannot know while planning; the next plan of an existing target shows these objects as known after apply, so plan and apply again; for a new target, set plan_objects = false")

// ErrUnplannedObjects is the error for a release that has other objects than the plan showed.
var ErrUnplannedObjects = errors.New("the release has other objects than the plan showed; " +
	"the next plan compares them with the templates again")

// MatchesPlanned reports whether hashes match promised, an earlier result of KnownHashes: they have
// the same objects, and known hashes are equal.
func MatchesPlanned(hashes, promised map[string]string) bool {
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

// AllKnown reports whether a plan has the content of all objects of a deployment. planned is a result
// of KnownHashes, nil if not even the names are known.
func AllKnown(planned map[string]string) bool {
	for _, hash := range planned {
		if hash == "" {
			return false
		}
	}
	return planned != nil
}

// ShortHash is the hash shown for an object: the first 12 hexadecimal digits of
// the content's SHA-256.
func ShortHash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:6])
}
