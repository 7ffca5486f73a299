package plan

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// render finds the objects of the deployments to be written, up to the first whose rendering exceeds
// a limit.
func (p *Plan) render(ctx context.Context, facts Facts, policies deploy.Policies) {
	needs := p.growAfterKinds(facts.Charts)
	same := map[string]string{}
	for i, d := range p.Write {
		key := deploy.KeyOf(d)
		rendering, err := facts.Charts.Render(ctx, d)
		if err != nil {
			p.Failures = append(p.Failures, deploy.Failure{Cluster: d.Cluster, Bundle: d.Bundle.Name, Err: err})
			if !StopsRendering(err) {
				continue
			}
			for _, later := range p.Write[i+1:] {
				p.NotRendered = append(p.NotRendered, deploy.KeyOf(later))
			}
			return
		}
		if p.desired.Unpredicted[key] == d.Digest {
			rendering = rendering.Unpredicted()
		}
		if err := p.checkPolicies(d, rendering, policies); err != nil {
			p.Failures = append(p.Failures, deploy.Failure{Cluster: d.Cluster, Bundle: d.Bundle.Name, Err: err})
			continue
		}
		p.addHooks(key, rendering.Documents)
		p.Kinds[key] = kindsOf(rendering)
		for _, field := range rendering.UnknownFields {
			text := mask.PrintableLine(field.String())
			p.UnknownFields[text] = append(p.UnknownFields[text], key)
		}
		for _, reference := range rendering.UncheckedSchemas {
			text := mask.PrintableLine(reference)
			p.UncheckedSchemas[text] = append(p.UncheckedSchemas[text], key)
		}
		p.Renderings[key] = kept(rendering, facts.Diff.Compares(p.Prior, key) || facts.mayTakeOver(d), same)
		objects := p.objectsOf(d, rendering, facts)
		if objects != nil {
			p.Objects[key] = objects
		}
		if !release.AllKnown(objects) && rendering.Irreproducible != "" {
			p.Unknown.Add(unknownBecause(d, rendering, needs[key]), key.String())
		}
	}
	p.Failures = append(p.Failures, p.sharedObjects(ctx, facts.Charts)...)
}

// StopsRendering reports whether nothing more is rendered after an error, because the rendering has
// exceeded a limit. Others could take as long, and the plan fails in any case. Renderings that fail
// sooner are all reported.
func StopsRendering(err error) bool {
	var limited interface{ ExceedsLimit() bool }
	return errors.As(err, &limited) && limited.ExceedsLimit()
}

// kept returns the part of a rendering that a plan keeps. Documents of many clusters are mostly
// alike. Each is kept once, in same. The rendering itself is not changed: plans of other targets, which
// Terraform makes at the same time, can have the same one.
func kept(rendering release.Rendering, documents bool, same map[string]string) release.Rendering {
	if !documents {
		rendering.Documents = nil
		return rendering
	}
	rendering.Documents = slices.Clone(rendering.Documents)
	for i, document := range rendering.Documents {
		known, ok := same[document.Content]
		if !ok {
			known = document.Content
			same[known] = known
		}
		rendering.Documents[i].Content = known
	}
	return rendering
}

// objectsOf returns the objects that a deployment is going to have, nil if they are not known. The
// hash of an object is "" if only its name is known. A deployment that is written only because of
// Relabel keeps its objects. They may have been rendered when its cluster had other capabilities.
func (p *Plan) objectsOf(d target.Deployment, rendering release.Rendering, facts Facts) map[string]string {
	record := p.Prior[deploy.KeyOf(d)]
	stays := !deploy.FactsOf(d, p.Prior).NeedsWrite()
	switch {
	case stays && len(record.Objects) > 0:
		return record.Objects
	case stays && dependsOnCluster(facts.Charts, d):
		return nil
	}
	return rendering.KnownHashes()
}

func dependsOnCluster(charts Charts, d target.Deployment) bool {
	depends, err := charts.DependsOnCluster(d)
	return depends || err != nil
}

// unknownBecause returns why the objects of a deployment are known only after an apply. needed is
// the bundle that can change the capabilities of the cluster, "" for none.
func unknownBecause(d target.Deployment, rendering release.Rendering, needed string) string {
	switch {
	case !rendering.DependsOnCluster:
		return rendering.Irreproducible
	case needed != "":
		return rendering.Irreproducible + ", and bundle " + needed + ", which it depends on, can change the capabilities of the cluster"
	case d.Capabilities != nil:
		return rendering.Irreproducible
	}
	return rendering.Irreproducible + ", and the capabilities of the cluster have not been read yet"
}

// growAfterKinds marks capabilities of clusters as possibly growing. It does so for deployments to
// be written that depend on a bundle which is written as well and can define kinds. It returns
// that bundle by deployment.
func (c Change) growAfterKinds(charts Charts) map[deploy.Key]string {
	return c.afterKinds(charts, func(known target.Capabilities) *target.Capabilities {
		known.MayGrow = true
		return &known
	})
}

// unpinAfterKinds removes the capabilities that were read before from the same deployments. They
// are rendered with the capabilities that their cluster has after that bundle is written. The
// objects that the plan showed for them are the same with both.
func (c Change) unpinAfterKinds(charts Charts) {
	c.afterKinds(charts, func(target.Capabilities) *target.Capabilities { return nil })
}

// afterKinds changes the capabilities of deployments to be written, if a bundle that they depend
// on can change them. That bundle must be written as well. afterKinds returns it by deployment.
func (c Change) afterKinds(charts Charts, change func(target.Capabilities) *target.Capabilities) map[deploy.Key]string {
	written := map[deploy.Key]target.Deployment{}
	for _, d := range c.Write {
		written[deploy.KeyOf(d)] = d
	}
	needs := map[deploy.Key]string{}
	for i, d := range c.Write {
		if d.Capabilities == nil || d.Capabilities.Fixed {
			continue
		}
		for _, name := range deploysAfter(c.Needs, d.Bundle.Name) {
			needed, ok := written[deploy.Key{Cluster: d.Cluster, Bundle: name}]
			if !ok {
				continue
			}
			if brings, err := charts.BringsKinds(needed); brings || err != nil {
				c.Write[i].Capabilities = change(*d.Capabilities)
				needs[deploy.KeyOf(d)] = name
				break
			}
		}
	}
	return needs
}

// unpinUnplanned removes the capabilities from deployments to be written whose objects the plan
// has left unknown. They are rendered for their cluster as it is when they are written. If the
// plan had the names of all objects of a deployment, the deployment is rendered for the cluster of
// the plan: the hashes in the plan are those for that cluster.
func (c Change) unpinUnplanned(planned map[deploy.Key]map[string]string) {
	for i, d := range c.Write {
		if _, known := planned[deploy.KeyOf(d)]; !known && (d.Capabilities == nil || !d.Capabilities.Fixed) {
			c.Write[i].Capabilities = nil
		}
	}
}

// deploysAfter returns the bundles that a bundle depends on, directly or through others, sorted.
func deploysAfter(needs map[string][]string, bundle string) []string {
	found := map[string]bool{}
	var follow func(string)
	follow = func(name string) {
		for _, needed := range needs[name] {
			if !found[needed] {
				found[needed] = true
				follow(needed)
			}
		}
	}
	follow(bundle)
	return slices.Sorted(maps.Keys(found))
}

// Wants returns the objects that deployments of a change are going to have, on clusters where
// objects can move to another bundle. The plan has rendered these deployments. A deployment with
// more than one possible rendering, or with none before it is deployed, is left out.
func (c Change) Wants(ctx context.Context, charts Charts) map[deploy.Key]map[string]string {
	wants := map[deploy.Key]map[string]string{}
	mayMove := c.moveCandidates(nil).MayMove()
	for _, d := range c.Write {
		if !mayMove[d.Cluster] {
			continue
		}
		rendering, err := charts.Render(ctx, d)
		if err == nil && rendering.Irreproducible == "" { // Its write reports the error.
			wants[deploy.KeyOf(d)] = rendering.Hashes()
		}
	}
	return wants
}

// plannedMoves returns the moves of a plan, by cluster.
func (p *Plan) plannedMoves() map[string]release.Moves {
	wants, mayMove := map[deploy.Key]map[string]string{}, p.moveCandidates(nil).MayMove()
	for key, rendering := range p.Renderings {
		if mayMove[key.Cluster] && rendering.Irreproducible == "" {
			wants[key] = rendering.Hashes()
		}
	}
	return p.moveCandidates(wants).Moves()
}

func (c Change) moveCandidates(wants map[deploy.Key]map[string]string) deploy.MoveCandidates {
	return deploy.MoveCandidates{Write: c.Write, Remove: c.Remove, Keep: slices.Collect(maps.Keys(c.Keep)), Prior: c.Prior, Wants: wants}
}
