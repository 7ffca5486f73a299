package helm

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"unicode/utf8"

	helmrelease "helm.sh/helm/v3/pkg/release"
)

// contentVersion begins every content digest. A digest of another version matches none of
// these, so that a record is read again and never trusted by mistake.
const contentVersion = "1:"

// record is what is read of a release record.
type record struct {
	Manifest string       `json:"manifest"`
	Hooks    []recordHook `json:"hooks"`
	Chart    recordChart  `json:"chart"`
}

// recordHook is everything of a hook but when it ran last.
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

// recordOf is what would be read of a release once it is stored.
func recordOf(stored *helmrelease.Release) record {
	made := record{Manifest: stored.Manifest}
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

// content is a digest of everything in a record that acts: the manifest and the hooks, in
// their order. When a hook ran last is not covered, as every run changes it.
func (r record) content() string {
	d := contentDigest{sha256.New()}
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
	return contentVersion + hex.EncodeToString(d.Sum(nil)[:length])
}

// policies are the delete policies of a hook. Helm writes its default into the record when
// the hook runs (pkg/action/hooks.go, execHook).
func (h recordHook) policies() []string {
	if len(h.DeletePolicies) == 0 {
		return []string{string(helmrelease.HookBeforeHookCreation)}
	}
	return h.DeletePolicies
}

// contentDigest adds values with their lengths, so that none can be moved into another.
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
