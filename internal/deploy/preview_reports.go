package deploy

import (
	"context"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
)

// PreviewRequest selects what is reported about a plan.
type PreviewRequest struct {
	Identity TargetIdentity
	Consent  Consent
	Bundles  []*bundle.Bundle
	// MayDeploy reports whether another target of this process may deploy a deployment.
	MayDeploy func(Key) bool
	// Versions are the known versions of objects that values come from.
	Versions map[string]Versions
	// IsRepeated reports that this plan was reported before, and is repeated during its apply.
	IsRepeated bool
	Diff       DiffMode
	// Replaces are the records of the target that the plan of a create replaces.
	Replaces map[Key]Record
	// TakenOver are the deployments that take something over from another owner.
	TakenOver map[Key]bool
	// ListsObjects reports that the plan shows the names of objects.
	ListsObjects bool
}

// PreviewReports are the reports about a plan on clusters.
type PreviewReports struct {
	Summary             PlanSummary
	MissingDependencies []Failure
	Ownership           OwnershipReport
	MissingValues       map[string][]string
	Lacks               LacksReport
	Definitions         DefinitionReport
	Hooks               []HookRun
	Diff                DiffReport
}

// Reports reads clusters for the reports about a plan. For a repeated plan it reads only what the
// report on owners needs.
func (p *Preview) Reports(ctx context.Context, plan *Plan, of PreviewRequest) PreviewReports {
	var found PreviewReports
	if !of.IsRepeated {
		found.MissingDependencies = p.MissingDependencies(ctx, plan, of.Bundles, of.MayDeploy)
	}
	found.Ownership = p.Ownership(ctx, of.Identity, of.Consent, plan)
	if of.IsRepeated {
		return found
	}
	found.Summary = plan.Summary(of.Replaces)
	found.Summary.Counts = found.Summary.Counts.TakingOver(takenOver(plan, found.Ownership, of.Replaces))
	found.MissingValues = p.MissingValues(ctx, plan, of.Versions)
	found.Lacks = p.Lacks(ctx, plan)
	found.Summary.Namespaces = found.Lacks.Namespaces
	found.Definitions = p.Definitions(ctx, plan)
	found.Hooks = plan.Hooks
	of.TakenOver = found.Ownership.TakenOver
	found.Diff = p.Diff(ctx, of, plan)
	return found
}

// takenOver returns how many deployments take something over from another owner, and how many of
// them neither the state nor a replaced target has.
func takenOver(plan *Plan, found OwnershipReport, replaced map[Key]Record) (number, added int) {
	for key := range found.TakenOver {
		_, had := plan.prior[key]
		if _, replaces := replaced[key]; !had && !replaces {
			added++
		}
	}
	return len(found.TakenOver), added
}
