package preview

import (
	"cmp"
	"context"
	"sync"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// DefinitionReport is what an apply does with custom resource definitions below crds/.
type DefinitionReport struct {
	Found []release.Definition
	// NotCompared are the reasons why definitions could not be read, with the deployments.
	NotCompared status.Grouped
}

// definitionPreview collects a DefinitionReport.
type definitionPreview struct {
	*Preview
	plan *plan.Plan

	mu     sync.Mutex
	report DefinitionReport
}

// Definitions reports which definitions below crds/ of charts an apply creates, replaces and
// leaves as they are. It sends one request for each definition of the charts that are about to be
// deployed.
func (p *Preview) Definitions(ctx context.Context, planned *plan.Plan) DefinitionReport {
	wanted := map[string]target.Deployment{}
	for _, d := range planned.Write {
		if len(planned.Renderings[deploy.KeyOf(d)].CRDs) > 0 && d.HelmOptions().CRDs != fleetyaml.CRDsSkip && p.readsClusterOf(d) {
			wanted[d.Key()] = d
		}
	}
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	c := &definitionPreview{Preview: p, plan: planned}
	forEachCluster(p, wanted, func(_ string, d target.Deployment) { c.compare(ctx, d) },
		func(_ string, d target.Deployment, err error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.report.NotCompared.Add(status.ShortCause(err), d.Key())
		})
	return c.report
}

// compare compares the definitions of one deployment.
func (p *definitionPreview) compare(ctx context.Context, d target.Deployment) {
	before, rendering := p.plan.Prior[deploy.KeyOf(d)], p.plan.Renderings[deploy.KeyOf(d)]
	found, err := p.read(ctx, d, rendering)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		// Without the right to read definitions, an upgrade of values reports nothing.
		replaces := d.HelmOptions().CRDs == fleetyaml.CRDsCreateReplace
		if replaces || before.Version != rendering.Version && !isNew(d, before) {
			p.report.NotCompared.Add(status.ShortCause(err), d.Key())
		}
		return
	}
	for _, definition := range found {
		definition.Cluster, definition.Bundle = d.Cluster, d.Bundle.Name
		definition.Policy = cmp.Or(d.HelmOptions().CRDs, fleetyaml.CRDsCreate)
		definition.Installed = !isNew(d, before)
		p.report.Found = append(p.report.Found, definition)
	}
}

func (p *definitionPreview) read(ctx context.Context, d target.Deployment, rendering release.Rendering) ([]release.Definition, error) {
	cluster, err := p.Connect(d.Cluster)
	if err != nil {
		return nil, err
	}
	return cluster.Definitions(ctx, d, rendering)
}
