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
	var (
		mu     sync.Mutex
		report DefinitionReport
	)
	notCompared := func(_ string, d target.Deployment, err error) {
		mu.Lock()
		defer mu.Unlock()
		report.NotCompared.Add(status.ShortCause(err), d.Key())
	}
	forEachCluster(p, wanted, func(key string, d target.Deployment) {
		before, rendering := planned.Prior[deploy.KeyOf(d)], planned.Renderings[deploy.KeyOf(d)]
		found, err := p.definitions(ctx, d, rendering)
		if err != nil {
			// Without the right to read definitions, an upgrade of values reports nothing.
			replaces := d.HelmOptions().CRDs == fleetyaml.CRDsCreateReplace
			if replaces || before.Version != rendering.Version && !isNew(d, before) {
				notCompared(key, d, err)
			}
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for _, definition := range found {
			definition.Cluster, definition.Bundle = d.Cluster, d.Bundle.Name
			definition.Policy = cmp.Or(d.HelmOptions().CRDs, fleetyaml.CRDsCreate)
			definition.Installed = !isNew(d, before)
			report.Found = append(report.Found, definition)
		}
	}, notCompared)
	return report
}

func (p *Preview) definitions(ctx context.Context, d target.Deployment, rendering release.Rendering) ([]release.Definition, error) {
	cluster, err := p.Connect(d.Cluster)
	if err != nil {
		return nil, err
	}
	return cluster.Definitions(ctx, d, rendering)
}
