package deploy

import (
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/policy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/window"
)

// Windows decide whether deployments may change at a given time.
type Windows interface {
	// Closed returns why a deployment must not change, nil if it may. onlyDrift reports that the
	// change only corrects drift.
	Closed(cluster string, bundle window.Bundle, onlyDrift bool) error
}

// Policies check what is to be written.
type Policies interface {
	// Planned returns the violations of a deployment and of its objects, as far as they are known.
	Planned(d target.Deployment, rendering release.Rendering) ([]policy.Violation, error)
	// NeedsObjects reports whether the objects of a deployment have to be checked.
	NeedsObjects(d target.Deployment) bool
	// Written returns the violations of the objects that are about to be written.
	Written(d target.Deployment, documents []diff.Document) []policy.Violation
}
