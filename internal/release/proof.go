package release

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// derivedKey begins each key that is derived from an adoption key.
const derivedKey = "adoption-"

// RecordKey returns the key with which a target proves that it wrote a release record. stored are
// the keys in its state. The key is derived from the adoption key, so that all targets of the owner
// with that adoption key have the same one. Without an adoption key it is one that is stored, or a
// new one.
func RecordKey(owner, adoptionKey string, stored []string) string {
	if adoptionKey != "" {
		return derivedKey + Proof{Key: adoptionKey}.Code("record key", owner)
	}
	stored = slices.DeleteFunc(slices.Clone(stored), func(key string) bool { return key == "" || strings.HasPrefix(key, derivedKey) })
	if len(stored) == 0 {
		return rand.Text()
	}
	return slices.Min(stored)
}

// Proof is what is needed to prove that a release record was written by a target: a key, which
// only the state of the target contains, and the UID of the cluster.
type Proof struct{ Key, UID string }

// Code returns a code of texts that only an owner of the key can make. It is a legal value of a
// label. Each text counts with its length, so that nothing can move from one text to the next.
func (p Proof) Code(use string, texts ...string) string {
	mac := hmac.New(sha256.New, []byte(p.Key))
	add := func(text string) {
		_, _ = fmt.Fprintf(mac, "%d;", len(text))
		_, _ = io.WriteString(mac, text)
	}
	add(use)
	add(p.UID)
	for _, text := range texts {
		add(text)
	}
	const length = 20 // bytes
	return hex.EncodeToString(mac.Sum(nil)[:length])
}

// OfLabels returns the code for the labels of a record. It does not cover the status, which
// changes after the record was written, and Failed, which describes other records.
func (p Proof) OfLabels(o Observed) string {
	mark, policy := o.Mark, o.Mark.UninstallPolicy
	return p.Code("labels", o.Namespace, o.Release, strconv.Itoa(o.Revision), o.Content,
		mark.Owner, mark.Target, mark.Instance, mark.AdoptionKey, mark.Bundle, mark.Digest, strconv.Itoa(mark.Revision), string(mark.Text),
		policy.ServiceAccount, fmt.Sprint(policy.KeepResources, policy.DeleteNamespace, policy.NamespaceKeys, policy.OwnValues))
}

// proves reports whether the labels of a record are those that an owner of the key wrote. Without a
// key nothing is proven.
func (p Proof) proves(o Observed) bool {
	return p.Key != "" && hmac.Equal([]byte(p.OfLabels(o)), []byte(o.MAC))
}

// Claimant is a target in relation to one release that it wants or has.
type Claimant struct {
	// Mark is what the target writes on the record.
	Mark Mark
	// Proof has the key of the target, and the UID of the cluster.
	Proof Proof
	// Known is what state has of the release, nil if it has nothing.
	Known *Known
}

// known returns what state has of the release on this cluster.
func (c Claimant) known() *Known {
	switch k := c.Known; {
	case k == nil, k.Engine, k.UID != "" && c.Proof.UID != "" && k.UID != c.Proof.UID:
		return nil
	default:
		return k
	}
}

// ProofOf returns the proof that an owner of one of the target's keys wrote the labels of a record.
// A state can have no UID of the cluster, because it could not be read.
func (c Claimant) ProofOf(o Observed) (proof Proof, proven bool) {
	proofs := []Proof{c.Proof}
	if k := c.known(); k != nil {
		proofs = []Proof{{k.Key, k.UID}, c.Proof, {k.Key, c.Proof.UID}, {c.Proof.Key, k.UID}}
	}
	for _, proof := range proofs {
		if proof.proves(o) {
			return proof, true
		}
	}
	return Proof{}, false
}

// Trusts reports whether the labels of the newest record count. They do if they are proven and the
// record is not older than the one that state has: anyone who may write Secrets can restore an
// older record. The labels of an imported record count until the target writes the release.
func (c Claimant) Trusts(o Observed) bool {
	known := c.known()
	if known == nil {
		_, proven := c.ProofOf(o)
		return proven
	}
	if known.Imported && o.Revision == known.Revision && o.Current() && o.Mark.Instance == known.Instance {
		return true
	}
	_, proven := c.ProofOf(o)
	return proven && o.Revision >= known.Revision
}

// Ownership returns the ownership of a release in relation to the target. A record that cannot be
// trusted only decides who is named as its owner.
func (c Claimant) Ownership(o Observed) Ownership {
	known := c.known()
	switch {
	case c.Trusts(o):
		if c.isOwn(o.Mark.Instance) {
			return Self
		}
		return SameKey
	case known == nil:
		return c.Mark.claimed(o)
	case known.Revision > 0 && o.Revision == known.Revision && !known.Imported:
		return Self
	}
	return OtherTool
}

// isOwn reports whether an id is that of the target, or the one that state has for the release.
func (c Claimant) isOwn(instance string) bool {
	known := c.known()
	return instance != "" && (instance == c.Mark.Instance || known != nil && instance == known.Instance)
}

// IsForged reports that the record is that of the revision in state, and that its labels were
// changed since.
func (c Claimant) IsForged(o Observed) bool { return c.Ownership(o) == Self && !c.Trusts(o) }
