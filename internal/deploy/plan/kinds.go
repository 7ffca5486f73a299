package plan

import (
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// WantedKind is a kind of objects of a deployment, with the first object of that kind and the place of
// its document.
type WantedKind struct {
	release.Kind

	First diff.Object
	Place string
}

// kindsOf returns the kinds of the objects and hooks of a rendering that an apply renders in the same
// way, each once.
func kindsOf(rendering release.Rendering) []WantedKind {
	if rendering.NamesVary || rendering.HidesNames {
		return nil
	}
	var kinds []WantedKind
	known := map[release.Kind]bool{}
	for _, document := range rendering.Documents {
		kind := release.Kind{APIVersion: document.APIVersion, Kind: document.Kind}
		if known[kind] || rendering.Varying[document.Key()] || document.Hook && rendering.RenderEach {
			continue
		}
		known[kind] = true
		kinds = append(kinds, WantedKind{Kind: kind, First: document.Object, Place: document.Place})
	}
	return kinds
}

// Locate returns where an object is in its bundle. place is that of its document.
func Locate(charts Charts, d target.Deployment, place string, object diff.Object) release.Place {
	file, line := charts.Locate(d, place, object.Kind, object.Name)
	return release.Place{File: file, Line: line}
}
