package preview

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// LacksReport is what clusters do not have of what the deployments of a plan need.
type LacksReport struct {
	// Kinds are deployments that have objects of a kind which their cluster does not serve and which no
	// bundle of the target defines there.
	Kinds []deploy.Failure
	// Namespaces are those that an apply creates, sorted. Clusters that lack the same are in one element.
	Namespaces []plan.OnClusters
}

// UnservedKindError reports a kind that a cluster does not serve and no bundle of the target defines.
type UnservedKindError struct {
	Kind release.Kind
	// Object is the key of the first object of the kind in its bundle, and Place where it is.
	Object string
	Place  release.Place
}

func (e *UnservedKindError) Error() string {
	text := fmt.Sprintf("%s: the cluster serves no kind %s in API version %s, "+
		"and no bundle of the target defines it", e.Object, e.Kind.Kind, e.Kind.APIVersion)
	if e.Place.File != "" {
		return e.Place.String() + ": " + text
	}
	return text
}

// Template is the text without the object, see status.Template.
func (e *UnservedKindError) Template() string { return e.Kind.String() + " in " + e.Place.String() }

// Lacks reads only clusters that get new releases or objects and responded to Ownership, which reads
// their kinds anyway. It reads each namespace of new releases.
func (p *Preview) Lacks(ctx context.Context, planned *plan.Plan) LacksReport {
	byCluster := map[string][]target.Deployment{}
	for _, d := range planned.Write {
		prior := planned.Prior[deploy.KeyOf(d)]
		gets := isNew(d, prior) || len(newObjects(d, prior, planned.Renderings[deploy.KeyOf(d)])) > 0
		if gets && p.readsClusterOf(d) && p.Snapshots.Has(d.Cluster) {
			byCluster[d.Cluster] = append(byCluster[d.Cluster], d)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	var (
		mu         sync.Mutex
		failures   []deploy.Failure
		namespaces = map[string][]string{}
	)
	forEachCluster(p, byCluster, func(cluster string, deployments []target.Deployment) {
		unserved, missing := p.lacksOn(ctx, cluster, deployments, planned)
		mu.Lock()
		defer mu.Unlock()
		failures = append(failures, unserved...)
		if len(missing) > 0 {
			namespaces[cluster] = missing
		}
	}, nil)
	slices.SortStableFunc(failures, deploy.Failure.Compare)
	return LacksReport{Kinds: failures, Namespaces: plan.GroupClusters(namespaces)}
}

// lacksOn checks one cluster. It returns nothing for a cluster that does not respond.
func (p *Preview) lacksOn(
	ctx context.Context, name string, deployments []target.Deployment, planned *plan.Plan,
) (failures []deploy.Failure, namespaces []string) {
	cluster, _, err := p.Snapshot(ctx, name)
	if err != nil {
		return nil, nil
	}
	lacks, err := cluster.Lacks(ctx, needsOf(planned, deployments))
	if err != nil {
		return nil, nil
	}
	if len(lacks.Kinds) == 0 {
		return nil, lacks.Namespaces
	}
	defined := definedKinds(ctx, p.Charts, planned.Write, name)
	for _, d := range deployments {
		for _, wanted := range planned.Kinds[deploy.KeyOf(d)] {
			if !slices.Contains(lacks.Kinds, wanted.Kind) || defined.has(wanted.Kind) {
				continue
			}
			err := &UnservedKindError{Kind: wanted.Kind, Object: wanted.First.Key(), Place: plan.Locate(p.Charts, d, wanted.Place, wanted.First)}
			failures = append(failures, deploy.Failure{Cluster: d.Cluster, Bundle: d.Bundle.Name, Err: err})
		}
	}
	return failures, lacks.Namespaces
}

// definitions are kinds that deployments define. Without a Kind, a release.Kind is all kinds of its
// API version, and without both it is any kind.
type definitions map[release.Kind]bool

func (d definitions) has(kind release.Kind) bool {
	return d[kind] || d[release.Kind{APIVersion: kind.APIVersion}] || d[release.Kind{}]
}

// definedKinds returns the kinds that deployments to be written define on a cluster. It counts as any
// kind what a plan cannot know.
func definedKinds(ctx context.Context, charts plan.Charts, write []target.Deployment, cluster string) definitions {
	defined := definitions{}
	for _, d := range write {
		if d.Cluster != cluster {
			continue
		}
		if brings, err := charts.BringsKinds(d); err == nil && !brings {
			continue
		}
		rendering, err := charts.Render(ctx, d) // The plan has rendered it before.
		if err != nil || rendering.NamesVary {
			defined[release.Kind{}] = true
			continue
		}
		defined.add(rendering.Documents, rendering.Varying)
		if d.HelmOptions().CRDs == fleetyaml.CRDsSkip {
			continue
		}
		below, err := charts.CRDDocuments(d, rendering)
		if err != nil {
			defined[release.Kind{}] = true
		}
		defined.add(below, nil)
	}
	return defined
}

// add adds the kinds that custom resource definitions and API services define.
func (d definitions) add(documents []diff.Document, varying map[string]bool) {
	for _, document := range documents {
		isDefinition := document.Group == "apiextensions.k8s.io" && document.Kind == "CustomResourceDefinition"
		isService := document.Group == "apiregistration.k8s.io" && document.Kind == "APIService"
		if !isDefinition && !isService {
			continue
		}
		var content struct {
			Spec struct {
				Group    string
				Version  string
				Names    struct{ Kind string }
				Versions []struct{ Name string }
			}
		}
		if varying[document.Key()] || json.Unmarshal([]byte(document.Content), &content) != nil {
			d[release.Kind{}] = true
			continue
		}
		spec := content.Spec
		if isService {
			d[release.Kind{APIVersion: spec.Group + "/" + spec.Version}] = true
		}
		for _, version := range spec.Versions {
			d[release.Kind{APIVersion: spec.Group + "/" + version.Name, Kind: spec.Names.Kind}] = true
		}
	}
}

// needsOf returns the kinds of the objects of deployments on one cluster, and the namespaces that an
// apply creates for new releases if they do not exist.
func needsOf(planned *plan.Plan, deployments []target.Deployment) release.Needs {
	var needs release.Needs
	for _, d := range deployments {
		for _, wanted := range planned.Kinds[deploy.KeyOf(d)] {
			if !slices.Contains(needs.Kinds, wanted.Kind) {
				needs.Kinds = append(needs.Kinds, wanted.Kind)
			}
		}
		if d.Options.CreatesNamespace() && isNew(d, planned.Prior[deploy.KeyOf(d)]) && !slices.Contains(needs.Namespaces, d.Namespace) {
			needs.Namespaces = append(needs.Namespaces, d.Namespace)
		}
	}
	return needs
}
