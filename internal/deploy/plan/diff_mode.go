package plan

import (
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
)

// DiffMode is what a plan shows of changes in rendered objects.
type DiffMode string

// The modes.
const (
	// DiffSummary shows nothing.
	DiffSummary DiffMode = "summary"
	// DiffAuto shows what changes inside objects, without texts from a Terraform configuration.
	DiffAuto DiffMode = "auto"
	// DiffRendered shows everything but Secrets.
	DiffRendered DiffMode = "rendered"
)

// Compares reports whether a deployment is compared. For a first install there is nothing to
// compare, and the objects of a plan show what is added and removed.
func (m DiffMode) Compares(prior map[deploy.Key]deploy.Record, key deploy.Key) bool {
	_, had := prior[key]
	return m == DiffRendered || m == DiffAuto && had
}
