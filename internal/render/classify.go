package render

import (
	"fmt"
	"slices"
	"strings"

	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// Hook is a hook of a release with its objects: one, or the members of a list.
type Hook struct {
	*helmrelease.Hook

	Objects []*unstructured.Unstructured
	// Place is where its document is, see PlaceOf.
	Place string
}

// classify separates hooks from other documents and sorts both, as Helm does. Helm reads what it
// decides by, the heads of the documents, from text that is written here. It leaves out hooks for
// events that it does not support.
func classify(documents []Document) (ordinary []Document, hooks []Hook, err error) {
	files, numbers := map[string]string{}, make(map[string]int, len(documents))
	for i, document := range documents {
		head, err := headOf(document.Object, i)
		if err != nil {
			return nil, nil, fmt.Errorf("writing the metadata of %s: %w", document.Place, err)
		}
		files[document.Source] += "---\n" + head + "\n"
		numbers[head] = i
	}
	found, sorted, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	if err != nil {
		return nil, nil, fmt.Errorf("sorting the objects: %w", err)
	}
	for _, one := range sorted {
		ordinary = append(ordinary, documents[numbers[one.Content]])
	}
	for _, hook := range found {
		document := documents[numbers[hook.Manifest]]
		objects := manifest.Flatten([]*unstructured.Unstructured{document.Object})
		hooks = append(hooks, Hook{Hook: hook, Objects: objects, Place: document.Place})
	}
	return ordinary, hooks, nil
}

// headOf writes the part of a document that Helm classifies it by, with the number of the document.
// Only the annotations of a hook decide anything.
func headOf(object *unstructured.Unstructured, number int) (string, error) {
	metadata, _ := object.Object["metadata"].(map[string]any)
	head := map[string]any{"name": metadata["name"]}
	annotations, _ := metadata["annotations"].(map[string]any)
	if _, isHook := annotations[wellknown.Hook]; isHook {
		head["annotations"] = annotations
	}
	return manifest.OneLine(map[string]any{"apiVersion": object.GetAPIVersion(), "kind": object.GetKind(), "number": number, "metadata": head})
}

// SplitHooks separates hooks from other objects, as Helm does, in their order. A hook for an event
// that Helm does not support is in neither list: Helm leaves its document out.
func SplitHooks(objects []*unstructured.Unstructured) (ordinary, hooks []*unstructured.Unstructured, err error) {
	var annotated []Document
	for _, object := range objects {
		if _, isHook := manifest.Annotations(object)[wellknown.Hook]; isHook {
			annotated = append(annotated, Document{Object: object, Source: fmt.Sprintf("%09d", len(annotated))})
			continue
		}
		ordinary = append(ordinary, object)
	}
	_, known, err := classify(annotated)
	if err != nil {
		return nil, nil, err
	}
	for _, document := range annotated {
		if slices.ContainsFunc(known, func(hook Hook) bool { return hook.Path == document.Source }) {
			hooks = append(hooks, document.Object)
		}
	}
	return ordinary, hooks, nil
}

// printable returns the name of a template for a comment.
func printable(source string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\u0085' || r == '\u2028' || r == '\u2029' || r == '\ufeff' {
			return '?'
		}
		return r
	}, source)
}
