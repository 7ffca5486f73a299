package deploy

import (
	"context"
	"maps"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// render finds the objects of the deployments to be written.
func (p *Plan) render(ctx context.Context, facts Facts) {
	unpinned := p.UnpinAfterKinds(facts.Charts)
	same := map[string]string{}
	for _, d := range p.Write {
		key := KeyOf(d)
		rendering, err := facts.Charts.Render(ctx, d)
		if err != nil {
			p.Failures = append(p.Failures, Failure{Cluster: d.Cluster, Bundle: d.Bundle.Name, Err: err})
			continue
		}
		p.Renderings[key] = kept(rendering, facts.Diff.compares(p.prior, key), same)
		objects := p.objectsOf(d, rendering, facts)
		switch {
		case objects != nil:
			p.Objects[key] = objects
		case rendering.Irreproducible != "":
			p.Unknown.Add(unknownBecause(rendering, unpinned[key]), key.String())
		}
	}
}

// kept is what a plan keeps of a rendering. Documents of many clusters are mostly alike, and
// each is kept once, in same.
func kept(rendering release.Rendering, documents bool, same map[string]string) release.Rendering {
	if !documents {
		rendering.Documents = nil
	}
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

// objectsOf are the objects that a deployment is going to have, nil if that is not known. What
// is only looked at again keeps the objects that it has, and those may be from a time when its
// cluster could do other things.
func (p *Plan) objectsOf(d target.Deployment, rendering release.Rendering, facts Facts) map[string]string {
	record := p.prior[KeyOf(d)]
	stays := !factsOf(d, p.prior).NeedsWrite()
	switch {
	case stays && len(record.Objects) > 0:
		return record.Objects
	case stays && asksCluster(facts.Charts, d), rendering.Irreproducible != "":
		return nil
	}
	return rendering.Hashes()
}

func asksCluster(charts Charts, d target.Deployment) bool {
	asks, err := charts.AsksCluster(d)
	return asks || err != nil
}

// unknownBecause says why the objects of a deployment are known after an apply only. needed is
// the bundle that can change what the cluster can do, "" for none.
func unknownBecause(rendering release.Rendering, needed string) string {
	switch {
	case !rendering.AsksCluster:
		return rendering.Irreproducible
	case needed != "":
		return rendering.Irreproducible + ", and bundle " + needed + ", which it depends on, can change the capabilities of the cluster"
	}
	return rendering.Irreproducible + ", and the capabilities of the cluster have not been read yet"
}

// UnpinAfterKinds releases deployments to be written from what their clusters could do before,
// where a bundle that they depend on is written as well and can change that: they are rendered
// for what it has made of the cluster. It returns that bundle by deployment.
func (c Change) UnpinAfterKinds(charts Charts) map[Key]string {
	written := map[Key]target.Deployment{}
	for _, d := range c.Write {
		written[KeyOf(d)] = d
	}
	unpinned := map[Key]string{}
	for i, d := range c.Write {
		if d.Capabilities == nil {
			continue
		}
		for _, name := range deploysAfter(c.Needs, d.Bundle.Name) {
			needed, ok := written[Key{Cluster: d.Cluster, Bundle: name}]
			if !ok {
				continue
			}
			if brings, err := charts.BringsKinds(needed); brings || err != nil {
				c.Write[i].Capabilities = nil
				unpinned[KeyOf(d)] = name
				break
			}
		}
	}
	return unpinned
}

// UnpinUnplanned releases deployments to be written whose objects the plan has left unknown:
// they are rendered for their cluster as it is when they are written.
func (c Change) UnpinUnplanned(planned map[Key]map[string]string) {
	for i, d := range c.Write {
		if _, known := planned[KeyOf(d)]; !known {
			c.Write[i].Capabilities = nil
		}
	}
}

// deploysAfter are the bundles that a bundle depends on, through others as well, sorted.
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

// Wants are the objects that the deployments of a change are going to have where one can move
// to another bundle. A plan has rendered them. What can be rendered in another way, or not
// before it is deployed, is left out.
func (c Change) Wants(ctx context.Context, charts Charts) map[Key]map[string]string {
	wants := map[Key]map[string]string{}
	mayMove := c.moveCandidates(nil).mayMove()
	for _, d := range c.Write {
		if !mayMove[d.Cluster] {
			continue
		}
		rendering, err := charts.Render(ctx, d)
		if err == nil && rendering.Irreproducible == "" { // Its write reports the error.
			wants[KeyOf(d)] = rendering.Hashes()
		}
	}
	return wants
}

// plannedMoves are the moves of a plan, by cluster.
func (p *Plan) plannedMoves() map[string]release.Moves {
	wants, mayMove := map[Key]map[string]string{}, p.moveCandidates(nil).mayMove()
	for key, rendering := range p.Renderings {
		if mayMove[key.Cluster] && rendering.Irreproducible == "" {
			wants[key] = rendering.Hashes()
		}
	}
	return p.moveCandidates(wants).moves()
}

func (c Change) moveCandidates(wants map[Key]map[string]string) moveCandidates {
	return moveCandidates{Write: c.Write, Remove: c.Remove, Keep: slices.Collect(maps.Keys(c.Keep)), Prior: c.prior, Wants: wants}
}

// Unplanned finds deployments whose objects are not those the plan showed. It takes a chart
// whose output changes in a way that was not foreseen; the state then says what is there, and
// this error says why.
func (o *Outcome) Unplanned(planned map[Key]map[string]string) []Failure {
	failed := map[Key]bool{}
	for _, failure := range o.Failures {
		failed[Key{Cluster: failure.Cluster, Bundle: failure.Bundle}] = true
	}
	var failures []Failure
	for key, objects := range planned {
		record, ok := o.Records[key]
		if !ok || failed[key] || !record.State.Settled() || maps.Equal(record.Objects, objects) {
			continue
		}
		failures = append(failures, Failure{Cluster: key.Cluster, Bundle: key.Bundle, Doing: "deploying", Err: errOtherObjects})
	}
	return failures
}
