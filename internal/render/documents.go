package render

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"sort"
	"strings"

	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
)

// Document is one document in the outputs of templates: an object or a list of objects.
type Document struct {
	Object *unstructured.Unstructured
	// Source is the name of the template, and Place where the document is in it, see PlaceOf.
	Source, Place string
}

// Documents returns the documents in the outputs of templates, by the names of the templates, in
// Helm's order. Each has exactly one object or list of objects, which every reader reads in the same
// way. Its error is a *ManifestError that names the template.
func Documents(bundleName string, outputs map[string]string) ([]Document, error) {
	var found []Document
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		if isLeftOut(name) {
			continue
		}
		texts := splitDocuments(outputs[name])
		for i, text := range texts {
			place := PlaceOf(name, i+1, len(texts))
			objects, err := manifest.ParseAll([]byte(text))
			if err != nil {
				return nil, &ManifestError{Bundle: bundleName, Err: &PlaceError{Place: place, Err: withoutLine(err)}}
			}
			for _, object := range objects {
				found = append(found, Document{Object: object, Source: name, Place: place})
			}
		}
	}
	return found, nil
}

// documentsOf returns objects as the documents of one template.
func documentsOf(objects []*unstructured.Unstructured, template string) []Document {
	documents := make([]Document, len(objects))
	for i, object := range objects {
		documents[i] = Document{Object: object, Source: template, Place: PlaceOf(template, i+1, len(objects))}
	}
	return documents
}

// withoutLine removes the line from an error: the line of an output is not that of its template.
func withoutLine(err error) error {
	if incomplete, ok := errors.AsType[*manifest.IncompleteError](err); ok {
		return &manifest.IncompleteError{Missing: incomplete.Missing}
	}
	if ambiguous, ok := errors.AsType[*manifest.AmbiguousError](err); ok {
		return &manifest.AmbiguousError{Object: ambiguous.Object, Reason: ambiguous.Reason}
	}
	return err
}

// isLeftOut reports whether Helm leaves out the output of a template of this name (helm.sh/helm/v3,
// pkg/action/action.go, renderResources).
func isLeftOut(template string) bool {
	return strings.HasPrefix(path.Base(template), "_") || isNotes(template)
}

func isNotes(template string) bool { return strings.HasSuffix(template, "NOTES.txt") }

// splitDocuments returns the documents of a rendered file as Helm splits them. In Helm, a document
// begins after its separator.
func splitDocuments(file string) []string {
	found := releaseutil.SplitManifests(file)
	names := slices.Collect(maps.Keys(found))
	sort.Sort(releaseutil.BySplitManifestsOrder(names))
	documents := make([]string, len(names))
	for i, name := range names {
		documents[i] = found[name]
	}
	return documents
}

// PlaceOf describes where a document is, from the name of its template and its number in the
// output, counted from 1. Plain manifests are quoted by templates, see Loader.
func PlaceOf(template string, number, count int) string {
	if _, file, quoted := strings.Cut(template, "/"+templatesDir+rawDir); quoted {
		template = strings.TrimSuffix(file, ".yaml")
	}
	if count == 1 {
		return template
	}
	return fmt.Sprintf("%s (document %d)", template, number)
}
