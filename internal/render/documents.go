package render

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Documents returns the objects that Helm is going to write, with hooks and the objects below
// crds/. Kinds without a namespace are those that the cluster reports.
func (c Chart) Documents(d target.Deployment) ([]diff.Document, error) {
	var crds []chart.CRD
	if d.HelmOptions().CRDs != fleetyaml.CRDsSkip {
		crds = c.Rendered.CRDObjects()
	}
	all, err := crdDocuments(d, crds)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(c.outputs)) {
		if IsLeftOut(name) {
			continue
		}
		documents := SplitDocuments(c.outputs[name])
		for i, document := range documents {
			found, err := documentsIn(d, document)
			if err != nil {
				return nil, &ManifestError{Bundle: d.Bundle.Name, Err: fmt.Errorf("%s: %w", name, err)}
			}
			for j := range found {
				found[j].Place = PlaceOf(name, i+1, len(documents))
			}
			all = append(all, found...)
		}
	}
	return withScopes(all, c.mapper), nil
}

// IsLeftOut reports whether Helm leaves out the output of a template of this name (helm.sh/helm/v3,
// pkg/action/action.go, renderResources).
func IsLeftOut(template string) bool {
	return strings.HasPrefix(path.Base(template), "_") || strings.HasSuffix(template, "NOTES.txt")
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

func documentsIn(d target.Deployment, document string) ([]diff.Document, error) {
	parsed, err := manifest.ParseAll([]byte(document))
	if err != nil {
		return nil, err
	}
	objects, hooks := SplitHooks(parsed)
	return manifest.Documents(objects, hooks, d.Namespace)
}

// withScopes removes the namespace from objects of kinds that have none on the cluster.
func withScopes(documents []diff.Document, mapper meta.RESTMapper) []diff.Document {
	isRoot := map[schema.GroupKind]bool{}
	for i := range documents {
		kind := schema.GroupKind{Group: documents[i].Group, Kind: documents[i].Kind}
		root, known := isRoot[kind]
		if !known {
			root = namespacer{mapper: mapper}.isRoot(kind)
			isRoot[kind] = root
		}
		if root {
			documents[i].Namespace = ""
		}
	}
	return documents
}
