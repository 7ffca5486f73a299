package plan

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/rollout"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// sharedObjectsError reports that two bundles of a target contain the same objects on one cluster. An
// object belongs to one release, so the apply would refuse the second release.
type sharedObjectsError struct {
	bundles [2]string
	// objects are such as "ConfigMap/ns/a (one: a.yaml:3, two: b.yaml:1)".
	objects []string
}

// sharedShown is the maximum number of objects that an error names.
const sharedShown = 10

func (e *sharedObjectsError) Error() string {
	objects := slices.Clone(e.objects[:min(len(e.objects), sharedShown)])
	if more := len(e.objects) - len(objects); more > 0 {
		objects = append(objects, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("bundles %s and %s both contain %s; an object belongs to one release, so remove it from one of the bundles",
		e.bundles[0], e.bundles[1], strings.Join(objects, ", "))
}

// Template is the text without objects, see status.Template.
func (e *sharedObjectsError) Template() string {
	return fmt.Sprintf("bundles %s and %s contain %d objects both", e.bundles[0], e.bundles[1], len(e.objects))
}

// sharedObjects returns a failure for each deployment to be written that is to have objects of
// another bundle on its cluster. The other bundle is written as well, or stays as it is.
func (p *Plan) sharedObjects(ctx context.Context, charts Charts) []deploy.Failure {
	owners := p.unchangedObjects()
	var failures []deploy.Failure
	for _, d := range p.Write {
		on, isShared := owners[d.Cluster]
		if !isShared {
			continue
		}
		shared := map[string][]diff.Object{} // By the other bundle.
		for _, object := range p.Renderings[deploy.KeyOf(d)].NamedObjects() {
			key := object.Key()
			if owner, taken := on[key]; taken && owner != d.Bundle.Name {
				shared[owner] = append(shared[owner], object)
				continue
			}
			on[key] = d.Bundle.Name
		}
		for _, other := range slices.Sorted(maps.Keys(shared)) {
			err := &sharedObjectsError{bundles: [2]string{other, d.Bundle.Name}, objects: p.sharedBetween(ctx, charts, d, other, shared[other])}
			failures = append(failures, deploy.Failure{Cluster: d.Cluster, Bundle: d.Bundle.Name, Err: err})
		}
	}
	return failures
}

// unchangedObjects returns the bundles of objects that the plan leaves as they are, by the keys of the
// objects and by cluster. It contains the clusters on which something is written and that have
// several deployments.
func (p *Plan) unchangedObjects() map[string]map[string]string {
	deployments, owners := map[string]int{}, map[string]map[string]string{}
	for _, d := range p.Write {
		deployments[d.Cluster]++
	}
	unchanged := slices.DeleteFunc(slices.Clone(p.Unchanged), func(step rollout.Step) bool { return step.Held != nil })
	for _, step := range unchanged {
		if deployments[step.Deployment.Cluster] > 0 {
			deployments[step.Deployment.Cluster]++
		}
	}
	for cluster, number := range deployments {
		if number > 1 {
			owners[cluster] = map[string]string{}
		}
	}
	for _, step := range unchanged {
		on, counts := owners[step.Deployment.Cluster]
		if !counts {
			continue
		}
		for key := range p.Prior[deploy.KeyOf(step.Deployment)].NamedObjects() {
			on[key] = step.Deployment.Bundle.Name
		}
	}
	return owners
}

// sharedBetween names objects of a deployment that another bundle has, with their places. The places
// in a bundle that stays as it is are not known.
func (p *Plan) sharedBetween(ctx context.Context, charts Charts, d target.Deployment, other string, objects []diff.Object) []string {
	theirs := func(diff.Object) release.Place { return release.Place{} }
	for _, written := range p.Write {
		if written.Cluster == d.Cluster && written.Bundle.Name == other {
			theirs = placesOf(ctx, charts, written)
		}
	}
	ours := placesOf(ctx, charts, d)
	shared := make([]string, len(objects))
	for i, object := range objects {
		shared[i] = object.Key()
		var places []string
		if place := theirs(object); place.File != "" {
			places = append(places, other+": "+place.String())
		}
		if place := ours(object); place.File != "" {
			places = append(places, d.Bundle.Name+": "+place.String())
		}
		if len(places) > 0 {
			shared[i] += " (" + strings.Join(places, ", ") + ")"
		}
	}
	return shared
}

// placesOf returns a function that finds the objects of a deployment in its bundle.
func placesOf(ctx context.Context, charts Charts, d target.Deployment) func(diff.Object) release.Place {
	rendering, err := charts.Render(ctx, d) // The plan has rendered it before.
	if err != nil {
		return func(diff.Object) release.Place { return release.Place{} }
	}
	places := make(map[string]string, len(rendering.Documents))
	for _, document := range rendering.Documents {
		if !document.Hook {
			places[document.Key()] = document.Place
		}
	}
	return func(object diff.Object) release.Place { return Locate(charts, d, places[object.Key()], object) }
}
