package preview

import (
	"context"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
)

// Request selects what is reported about a plan.
type Request struct {
	Identity deploy.TargetIdentity
	Consent  deploy.Consent
	Bundles  []*bundle.Bundle
	// MayDeploy reports whether another target of this process may deploy a deployment.
	MayDeploy func(deploy.Key) bool
	// Versions are the known versions of objects that values come from.
	Versions map[string]deploy.Versions
	// IsRepeated reports that this plan was reported before, and is repeated during its apply.
	IsRepeated bool
	Diff       plan.DiffMode
	// Replaces are the records of the target that the plan of a create replaces.
	Replaces map[deploy.Key]deploy.Record
	// TakenOver are the deployments that take something over from another owner.
	TakenOver map[deploy.Key]bool
	// ListsObjects reports that the plan shows the names of objects.
	ListsObjects bool
}

// Reports are the reports about a plan on clusters.
type Reports struct {
	Summary             plan.Summary
	MissingDependencies []deploy.Failure
	Ownership           OwnershipReport
	MissingValues       map[string][]string
	Lacks               LacksReport
	Definitions         DefinitionReport
	Hooks               []plan.HookRun
	Diff                DiffReport
}

// Reports reads clusters for the reports about a plan. For a repeated plan it reads only what the
// report on owners needs.
func (p *Preview) Reports(ctx context.Context, planned *plan.Plan, of Request) Reports {
	var found Reports
	if !of.IsRepeated {
		found.MissingDependencies = p.MissingDependencies(ctx, planned, of.Bundles, of.MayDeploy)
	}
	found.Ownership = p.Ownership(ctx, of.Identity, of.Consent, planned)
	if of.IsRepeated {
		return found
	}
	found.Summary = planned.Summary(of.Replaces)
	found.Summary.Counts = found.Summary.Counts.TakingOver(takenOver(planned, found.Ownership, of.Replaces))
	found.MissingValues = p.MissingValues(ctx, planned, of.Versions)
	found.Lacks = p.Lacks(ctx, planned)
	found.Summary.Namespaces = found.Lacks.Namespaces
	found.Definitions = p.Definitions(ctx, planned)
	found.Hooks = planned.Hooks
	of.TakenOver = found.Ownership.TakenOver
	found.Diff = p.Diff(ctx, of, planned)
	return found
}

// takenOver returns how many deployments take something over from another owner, and how many of
// them neither the state nor a replaced target has.
func takenOver(planned *plan.Plan, found OwnershipReport, replaced map[deploy.Key]deploy.Record) (number, added int) {
	for key := range found.TakenOver {
		_, had := planned.Prior[key]
		if _, replaces := replaced[key]; !had && !replaces {
			added++
		}
	}
	return len(found.TakenOver), added
}
