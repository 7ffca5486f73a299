package deploy

import (
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// wantedKind is a kind of objects of a deployment.
type wantedKind struct {
	release.Kind

	first diff.Object
	place string // of the document
}

// kindsOf returns the kinds of the objects and hooks of a rendering that an apply renders in the same
// way, each once.
func kindsOf(rendering release.Rendering) []wantedKind {
	if rendering.NamesVary || rendering.HidesNames {
		return nil
	}
	var kinds []wantedKind
	known := map[release.Kind]bool{}
	for _, document := range rendering.Documents {
		kind := release.Kind{APIVersion: document.APIVersion, Kind: document.Kind}
		if known[kind] || rendering.Varying[document.Key()] || document.Hook && rendering.RenderEach {
			continue
		}
		known[kind] = true
		kinds = append(kinds, wantedKind{Kind: kind, first: document.Object, place: document.Place})
	}
	return kinds
}

// locate returns where an object is in its bundle. place is that of its document.
func locate(charts Charts, d target.Deployment, place string, object diff.Object) release.Place {
	file, line := charts.Locate(d, place, object.Kind, object.Name)
	return release.Place{File: file, Line: line}
}
