package deploy

import (
	"context"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
)

// PreviewRequest says what is to be reported about a plan.
type PreviewRequest struct {
	Identity       TargetIdentity
	TakesOwnership bool
	Bundles        []*bundle.Bundle
	// MayDeploy reports whether another target of this process deploys something.
	MayDeploy func(Key) bool
	// Versions are the known versions of objects that values come from.
	Versions map[string]Versions
	// IsRepeated says that this plan was reported before, and is repeated during its apply.
	IsRepeated bool
	Diff       DiffMode
	// ListsObjects says that the plan shows the names of objects.
	ListsObjects bool
}

// PreviewReports is what a plan meets on clusters.
type PreviewReports struct {
	MissingDependencies []Failure
	Ownership           OwnershipReport
	MissingValues       map[string][]string
	Definitions         DefinitionReport
	Diff                DiffReport
}

// Reports asks clusters what a plan meets there. Of a plan that is repeated only what it needs
// of owners is asked.
func (p *Preview) Reports(ctx context.Context, plan *Plan, of PreviewRequest) PreviewReports {
	var found PreviewReports
	if !of.IsRepeated {
		found.MissingDependencies = p.MissingDependencies(ctx, plan, of.Bundles, of.MayDeploy)
	}
	found.Ownership = p.Ownership(ctx, of.Identity, of.TakesOwnership, plan)
	if of.IsRepeated {
		return found
	}
	found.MissingValues = p.MissingValues(ctx, plan, of.Versions)
	found.Definitions = p.Definitions(ctx, plan)
	found.Diff = p.Diff(ctx, of, plan)
	return found
}
