package storage

import (
	"crypto/hmac"
	"encoding/json"
	"strconv"
	"unicode/utf8"

	helmrelease "helm.sh/helm/v3/pkg/release"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// Record contains the parts of a release record that are read.
type Record struct {
	// Values are the values that the release was rendered with.
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

// RecordOf returns the record that a release has after it is stored.
func RecordOf(stored *helmrelease.Release) Record {
	made := Record{Manifest: stored.Manifest}
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

// Code returns the code that proves the content of a revision: the parts that take effect, which
// are the manifest and the hooks in their order, and the values. It does not cover when a hook ran
// last, because every run changes that. The code of the labels binds it to a revision. The manifest may contain secrets. Only the state of the
// target has the key, and only the cluster has the code. So a reader of one of them cannot test
// guesses of the secrets.
func (r Record) Code(proof release.Proof, of release.Observed) string {
	parts := []string{of.Namespace, of.Release, r.Manifest, r.canonicalValues(), strconv.Itoa(len(r.Hooks))}
	for _, hook := range r.Hooks {
		parts = append(parts, hook.Name, hook.Kind, hook.Path, hook.Manifest, strconv.Itoa(hook.Weight))
		for _, list := range [][]string{hook.Events, hook.policies()} {
			parts = append(append(parts, strconv.Itoa(len(list))), list...)
		}
	}
	for i, part := range parts {
		if !utf8.ValidString(part) {
			parts[i] = string([]rune(part)) // As JSON stores it.
		}
	}
	return proof.Code("content", parts...)
}

// canonicalValues returns the values as they are after Helm has read and written them. Helm reads
// all numbers as float64.
func (r Record) canonicalValues() string {
	var values map[string]any
	if err := json.Unmarshal(r.Values, &values); err != nil {
		return string(r.Values)
	}
	if len(values) == 0 {
		return ""
	}
	text, _ := json.Marshal(values) // Values that were read from JSON cannot fail.
	return string(text)
}

// Matches reports whether the record has the content for which its label was made with a proof.
func (r Record) Matches(proof release.Proof, of release.Observed) bool {
	return hmac.Equal([]byte(r.Code(proof, of)), []byte(of.Content))
}

// policies returns the delete policies of a hook. Helm writes its default into the record when
// the hook runs (pkg/action/hooks.go, execHook).
func (h recordHook) policies() []string {
	if len(h.DeletePolicies) == 0 {
		return []string{string(helmrelease.HookBeforeHookCreation)}
	}
	return h.DeletePolicies
}
