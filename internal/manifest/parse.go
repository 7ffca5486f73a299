// Package manifest reads and writes the objects of a release as YAML. It identifies objects, and
// refuses objects that no bundle may contain.
package manifest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Parse splits YAML or JSON into objects. Documents that are empty or lack
// a kind or an API version are left out, as Fleet does.
func Parse(content []byte) ([]*unstructured.Unstructured, error) {
	objects, _, err := parse(content, isNotEmpty)
	return objects, err
}

// ParseAll is Parse for the output of templates. A document that is not empty and lacks a kind or
// an API version is an [*IncompleteError]. A label or an annotation that is not text is a
// [*NotStringError]. Other code would then read no labels or annotations at all, and miss a hook or
// a policy. A value of a ConfigMap, a Secret or a pod template that every API server refuses is a
// [*NotStringError] too.
func ParseAll(content []byte) ([]*unstructured.Unstructured, error) {
	return parseStrictly(content, isNotEmpty)
}

// ParseFile is ParseAll for a file of a repository, which need not be a manifest. Documents that
// have neither an API version nor a kind nor metadata are left out, as Fleet does.
func ParseFile(content []byte) ([]*unstructured.Unstructured, error) {
	objects, err := parseStrictly(content, looksLikeObject)
	if wrong, ok := errors.AsType[*NotStringError](err); ok {
		wrong.Line = lineOf(content, wrong.Object, append(strings.Split(wrong.Field, "."), wrong.Key), isPlain)
	}
	return objects, err
}

func isNotEmpty(document map[string]any) bool { return len(document) > 0 }

// looksLikeObject reports whether a document has a field of an object, so that a missing field can
// be a typo.
func looksLikeObject(document map[string]any) bool {
	for _, field := range []string{"apiVersion", "kind", "metadata"} {
		if _, there := document[field]; there {
			return true
		}
	}
	return false
}

func parseStrictly(content []byte, isMeant func(document map[string]any) bool) ([]*unstructured.Unstructured, error) {
	objects, incomplete, err := parse(content, isMeant)
	if err == nil && incomplete != nil {
		return nil, incomplete
	}
	if err != nil {
		return nil, err
	}
	for _, object := range Flatten(objects) {
		if err := checkTexts(object); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// IncompleteError reports a document that is no Kubernetes object.
type IncompleteError struct {
	// Line is where the document begins, from 1.
	Line int
	// Missing is apiVersion or kind.
	Missing string
}

func (e *IncompleteError) Error() string {
	return fmt.Sprintf("line %d: the document has no %s", e.Line, e.Missing)
}

// parse returns the objects, and the first document that is incomplete and meant to be an object.
func parse(content []byte, isMeant func(document map[string]any) bool) (objects []*unstructured.Unstructured, incomplete *IncompleteError, err error) {
	rest, line := content, 1
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects, incomplete, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("splitting YAML documents: %w", err)
		}
		content, err := decode(document)
		if err != nil {
			return nil, nil, fmt.Errorf("document %d: %w", len(objects)+1, err)
		}
		// The reader does not report the position of a document.
		before, after, _ := bytes.Cut(rest, document)
		line += bytes.Count(before, []byte("\n"))
		object := &unstructured.Unstructured{Object: content}
		switch missing := missingIn(object); {
		case missing == "":
			objects = append(objects, object)
		case incomplete == nil && isMeant(content):
			incomplete = &IncompleteError{Line: line + linesBefore(document), Missing: missing}
		}
		line += bytes.Count(document, []byte("\n"))
		rest = after
	}
}

func missingIn(object *unstructured.Unstructured) string {
	switch {
	case object.GetAPIVersion() == "":
		return "apiVersion"
	case object.GetKind() == "":
		return "kind"
	}
	return ""
}

// linesBefore counts the comment lines and blank lines at the beginning of a document.
func linesBefore(document []byte) int {
	count := 0
	for line := range bytes.Lines(document) {
		if text := bytes.TrimSpace(line); len(text) > 0 && text[0] != '#' && !bytes.HasPrefix(text, []byte("---")) {
			return count
		}
		count++
	}
	return 0
}

// decode reads one YAML or JSON document. Integers stay integers, however large.
func decode(document []byte) (map[string]any, error) {
	asJSON, err := yaml.YAMLToJSON(document)
	if err != nil {
		return nil, err
	}
	var content map[string]any
	if err := utiljson.Unmarshal(asJSON, &content); err != nil {
		return nil, err
	}
	return content, nil
}

// Flatten replaces lists by their objects, as Helm does when it creates them. Documents are not
// flattened when they are read: Helm recognizes a hook by the annotations of a document, so an
// object in a list is no hook.
func Flatten(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	flat := make([]*unstructured.Unstructured, 0, len(objects))
	for _, object := range objects {
		items, isList := object.Object["items"].([]any)
		if !isList || slices.ContainsFunc(items, isNoObject) {
			flat = append(flat, object) // An API server reports what is wrong with it.
			continue
		}
		members := make([]*unstructured.Unstructured, len(items))
		for i, item := range items {
			content, _ := item.(map[string]any)
			members[i] = &unstructured.Unstructured{Object: content}
			if members[i].GetKind() == "" && members[i].GetAPIVersion() == "" {
				members[i].SetAPIVersion(object.GetAPIVersion())
				members[i].SetKind(strings.TrimSuffix(object.GetKind(), "List"))
			}
		}
		flat = append(flat, Flatten(members)...)
	}
	return flat
}

func isNoObject(item any) bool {
	_, ok := item.(map[string]any)
	return !ok
}

// Join writes objects as one YAML stream.
func Join(objects []*unstructured.Unstructured) (string, error) {
	var stream strings.Builder
	for _, object := range objects {
		document, err := yaml.Marshal(object.Object)
		if err != nil {
			return "", fmt.Errorf("writing %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		stream.WriteString("---\n")
		stream.Write(document)
	}
	return stream.String(), nil
}
