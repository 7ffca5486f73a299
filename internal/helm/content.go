package helm

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"unicode/utf8"

	helmrelease "helm.sh/helm/v3/pkg/release"
)

// Each content digest begins with its version. Digests of two versions never match, so that
// the record is read again and is not trusted by mistake.
const (
	// unsaltedContent is the version for records without a salt: those of Helm and those of
	// earlier versions of this provider.
	unsaltedContent = "1:"
	saltedContent   = "2:"
)

// record contains the parts of a release record that are read.
type record struct {
	// Salt is the key of the content digest, "" if the record has none. It is stored in a
	// label of the record and never in the state. The manifest may contain secrets, and a
	// person who reads the state must not be able to test guesses of them.
	Salt string `json:"-"`
	// Values are the values that the release was rendered with. The digest does not cover
	// them.
	Values   json.RawMessage `json:"config"`
	Manifest string          `json:"manifest"`
	Hooks    []recordHook    `json:"hooks"`
	Chart    recordChart     `json:"chart"`
}

// recordHook contains all fields of a hook except the time of its last run.
type recordHook struct {
	Name           string   `json:"name"`
	Kind           string   `json:"kind"`
	Path           string   `json:"path"`
	Manifest       string   `json:"manifest"`
	Events         []string `json:"events"`
	Weight         int      `json:"weight"`
	DeletePolicies []string `json:"delete_policies"`
}

type recordChart struct {
	Metadata struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"metadata"`
}

// recordOf returns the record that a release has after it is stored.
func recordOf(stored *helmrelease.Release) record {
	made := record{Salt: stored.Labels[labelSalt], Manifest: stored.Manifest}
	made.Values, _ = json.Marshal(stored.Config) // Helm stores the values in the same way, or fails.
	if stored.Chart != nil && stored.Chart.Metadata != nil {
		made.Chart.Metadata.Name, made.Chart.Metadata.Version = stored.Chart.Metadata.Name, stored.Chart.Metadata.Version
	}
	for _, hook := range stored.Hooks {
		if hook == nil {
			hook = &helmrelease.Hook{}
		}
		made.Hooks = append(made.Hooks, recordHook{
			Name: hook.Name, Kind: hook.Kind, Path: hook.Path, Manifest: hook.Manifest,
			Events: texts(hook.Events), Weight: hook.Weight, DeletePolicies: texts(hook.DeletePolicies),
		})
	}
	return made
}

func texts[T ~string](values []T) []string {
	made := make([]string, len(values))
	for i, value := range values {
		made[i] = string(value)
	}
	return made
}

// content returns a digest of the parts of a record that take effect: the manifest and the
// hooks, in their order. It does not cover when a hook ran last, because every run changes
// that.
func (r record) content() string {
	version, d := saltedContent, contentDigest{hmac.New(sha256.New, []byte(r.Salt))}
	if r.Salt == "" {
		version, d = unsaltedContent, contentDigest{sha256.New()}
	}
	d.text(r.Manifest)
	d.number(len(r.Hooks))
	for _, hook := range r.Hooks {
		d.text(hook.Name)
		d.text(hook.Kind)
		d.text(hook.Path)
		d.text(hook.Manifest)
		d.texts(hook.Events)
		d.number(hook.Weight)
		d.texts(hook.policies())
	}
	const length = 16 // bytes
	return version + hex.EncodeToString(d.Sum(nil)[:length])
}

// policies returns the delete policies of a hook. Helm writes its default into the record when
// the hook runs (pkg/action/hooks.go, execHook).
func (h recordHook) policies() []string {
	if len(h.DeletePolicies) == 0 {
		return []string{string(helmrelease.HookBeforeHookCreation)}
	}
	return h.DeletePolicies
}

// contentDigest adds values with their lengths, so that text cannot move from one value to the
// next.
type contentDigest struct{ hash.Hash }

func (d contentDigest) number(n int) { _, _ = fmt.Fprintf(d, "%d;", n) }

func (d contentDigest) text(text string) {
	if !utf8.ValidString(text) {
		text = string([]rune(text)) // As JSON stores it.
	}
	d.number(len(text))
	_, _ = io.WriteString(d, text)
}

func (d contentDigest) texts(list []string) {
	d.number(len(list))
	for _, text := range list {
		d.text(text)
	}
}
