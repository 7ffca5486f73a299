// Package manifest reads and writes the objects of a release as YAML: which objects there
// are, where they belong, and which of them no bundle may contain.
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
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	var objects []*unstructured.Unstructured
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("splitting YAML documents: %w", err)
		}
		content, err := decode(document)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", len(objects)+1, err)
		}
		object := &unstructured.Unstructured{Object: content}
		if object.GetKind() == "" || object.GetAPIVersion() == "" {
			continue
		}
		objects = append(objects, object)
	}
}

// decode reads one YAML or JSON document. Whole numbers stay whole, however
// large.
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

// Flatten puts the objects of lists in place of the lists, as Helm does when it makes
// them. It is not done where documents are read: by the annotations of a document Helm
// tells hooks, and what is inside a list is none.
func Flatten(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	flat := make([]*unstructured.Unstructured, 0, len(objects))
	for _, object := range objects {
		items, isList := object.Object["items"].([]any)
		if !isList || slices.ContainsFunc(items, isNoObject) {
			flat = append(flat, object) // An API server says what is wrong with it.
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
