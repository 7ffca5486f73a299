// Package diff returns the text diff of the objects of releases, without the secrets in them.
package diff

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// ObjectChange describes how one object changes.
type ObjectChange struct {
	// Key is the key of the object. It has a number from the second object on if a manifest names
	// one several times.
	Key  string
	Hook bool
	// Stays is true if an object is not wanted any more and its annotation makes Helm keep it.
	Stays bool
	// Before and After are YAML without secrets, "" if the object does not exist before or after
	// the change.
	Before, After string
}

// documentKey distinguishes the documents of one manifest.
type documentKey struct {
	key    string
	hook   bool
	number int
}

func (k documentKey) String() string {
	if k.number == 1 {
		return k.key
	}
	return fmt.Sprintf("%s (%d)", k.key, k.number)
}

// Compare returns the objects that differ, in the order of their names, hooks last. No text
// contains a value of a Secret, but each text shows if a value differs.
func Compare(before, after []Document) ([]ObjectChange, error) {
	return compare(before, after, nil)
}

// CompareHiding is Compare, but also hides texts from a Terraform configuration.
func CompareHiding(before, after []Document, texts HCLSides) ([]ObjectChange, error) {
	return compare(before, after, &texts)
}

func compare(before, after []Document, texts *HCLSides) ([]ObjectChange, error) {
	left, right := byPlace(before), byPlace(after)
	differ := map[documentKey]bool{}
	for at, content := range left {
		if other, stays := right[at]; !stays || other != content {
			differ[at] = true
		}
	}
	for at := range right {
		if _, was := left[at]; !was {
			differ[at] = true
		}
	}
	if len(differ) == 0 {
		return nil, nil
	}
	maskers := []objectMasker{secretsIn(before, after)}
	if texts != nil {
		maskers = append(maskers, newHCLMasker(*texts, namesIn(before, after)))
	}
	alterations := make([]ObjectChange, 0, len(differ))
	for _, at := range slices.SortedFunc(maps.Keys(differ), comparePlaces) {
		altered, err := alter(at, left[at], right[at], maskers)
		if err != nil {
			return nil, err
		}
		alterations = append(alterations, altered)
	}
	return alterations, nil
}

func comparePlaces(a, b documentKey) int {
	switch {
	case a.hook == b.hook:
		return cmp.Or(strings.Compare(a.key, b.key), a.number-b.number)
	case b.hook:
		return -1
	}
	return 1
}

// byPlace returns the contents of documents by their keys. Documents with equal keys are numbered
// in the order of their contents, so that the order in a manifest makes no difference.
func byPlace(documents []Document) map[documentKey]string {
	placed := make(map[documentKey]string, len(documents))
	sorted := slices.SortedFunc(slices.Values(documents), func(a, b Document) int { return strings.Compare(a.Content, b.Content) })
	for _, document := range sorted {
		at := documentKey{key: document.Key(), hook: document.Hook, number: 1}
		for _, taken := placed[at]; taken; _, taken = placed[at] {
			at.number++
		}
		placed[at] = document.Content
	}
	return placed
}

// objectMasker hides values of an object before and after a change. Either can be nil.
type objectMasker interface {
	mask(before, after map[string]any)
}

// namesIn returns the names and namespaces of objects.
func namesIn(manifests ...[]Document) []string {
	var names []string
	for _, documents := range manifests {
		for _, document := range documents {
			names = append(names, document.Name, document.Namespace)
		}
	}
	return names
}

func alter(at documentKey, before, after string, maskers []objectMasker) (ObjectChange, error) {
	was, err := readContent(at, before)
	if err != nil {
		return ObjectChange{}, err
	}
	is, err := readContent(at, after)
	if err != nil {
		return ObjectChange{}, err
	}
	altered := ObjectChange{Key: at.String(), Hook: at.hook, Stays: after == "" && hasKeepPolicy(was)}
	for _, masker := range maskers {
		masker.mask(was, is)
	}
	if altered.Before, err = writeContent(at, was); err != nil {
		return ObjectChange{}, err
	}
	altered.After, err = writeContent(at, is)
	return altered, err
}

func readContent(at documentKey, content string) (map[string]any, error) {
	if content == "" {
		return nil, nil
	}
	read, err := decodeContent(content)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", at, err)
	}
	return read, nil
}

func writeContent(at documentKey, content map[string]any) (string, error) {
	if content == nil {
		return "", nil
	}
	text, err := yaml.Marshal(content)
	if err != nil {
		return "", fmt.Errorf("writing %s: %w", at, err)
	}
	return string(text), nil
}

// hasKeepPolicy reads Helm's own annotation as Helm does (helm.sh/helm/v3, pkg/kube/resource_policy.go).
func hasKeepPolicy(object map[string]any) bool {
	policy, _ := annotationsOf(object)[wellknown.ResourcePolicy].(string)
	return strings.EqualFold(strings.TrimSpace(policy), wellknown.KeepPolicy)
}

func annotationsOf(object map[string]any) map[string]any {
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	return annotations
}
