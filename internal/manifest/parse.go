// Package manifest reads and writes the objects of a release as YAML. It identifies objects, and
// refuses objects that no bundle may contain.
package manifest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Parse splits YAML or JSON into objects. Documents that are empty or lack a kind or an API version
// are left out, as Fleet does. It accepts what others have written, such as the manifest in a
// release record; [Flatten] removes from it what another reader could understand differently.
func Parse(content []byte) ([]*unstructured.Unstructured, error) {
	parsed, err := parse(content)
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, document := range parsed {
		if missingIn(document.object) == "" {
			objects = append(objects, document.object)
		}
	}
	return objects, nil
}

// ParseAll is Parse for the output of templates. It refuses each document that two readers could
// understand differently, because its objects are checked here and read again by Helm:
//   - a document that is not empty and lacks a kind or an API version: *IncompleteError
//   - more than one value in a document, another spelling of a field such as Kind or Items, a list
//     with a member that is no object: *AmbiguousError
//   - a label or an annotation that is not text, and a value of a ConfigMap, a Secret or a pod
//     template that every API server refuses: *NotStringError
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
	_, hasVersion := document["apiVersion"]
	_, hasKind := document["kind"]
	_, hasMetadata := document[metadataField]
	return hasVersion || hasKind || hasMetadata
}

func parseStrictly(content []byte, isMeant func(document map[string]any) bool) ([]*unstructured.Unstructured, error) {
	parsed, err := parse(content)
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, document := range parsed {
		// Other readers see what follows an empty value.
		if object := document.object.Object; !isMeant(object) && (len(object) > 0 || isSingle(document.text)) {
			continue
		}
		if err := document.check(); err != nil {
			return nil, err
		}
		objects = append(objects, document.object)
	}
	return objects, nil
}

// IncompleteError reports a document that is no Kubernetes object.
type IncompleteError struct {
	// Line is where the document begins, from 1, and 0 for a rendered document.
	Line int
	// Missing is apiVersion or kind.
	Missing string
}

func (e *IncompleteError) Error() string {
	if e.Line == 0 {
		return "a rendered document has no " + e.Missing
	}
	return fmt.Sprintf("line %d: the document has no %s", e.Line, e.Missing)
}

// parsedDocument is one document of a stream.
type parsedDocument struct {
	text   []byte
	object *unstructured.Unstructured
	// line is the line on which the document begins, from 1.
	line int
}

// parse returns the documents of a stream.
func parse(content []byte) ([]parsedDocument, error) {
	var documents []parsedDocument
	rest, line := content, 1
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			return nil, fmt.Errorf("splitting YAML documents: %w", err)
		}
		object, err := decode(text)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", len(documents)+1, err)
		}
		// The reader does not report the position of a document.
		before, after, found := bytes.Cut(rest, text)
		if !found { // It ends the last line.
			before, after, _ = bytes.Cut(rest, bytes.TrimSuffix(text, []byte("\n")))
		}
		line += bytes.Count(before, []byte("\n"))
		documents = append(documents, parsedDocument{
			text: text, object: &unstructured.Unstructured{Object: object}, line: line + linesBefore(text),
		})
		line += bytes.Count(text, []byte("\n"))
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
