package state

import (
	"maps"
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// DriftState is what a refresh needs to judge live objects, because Terraform passes it no bundles:
// the rules of each deployment and the counts of its objects. Planning reads from it whether drift
// has to be corrected. A deployment without rules whose objects are all ready has no entry, to save
// space.
type DriftState struct {
	// Rules are the distinct rules; many deployments share them.
	Rules []release.Rules `json:"rules,omitempty"`
	// Usual is how many objects a deployment of each bundle has, where the state does
	// not show them.
	Usual       map[string]int             `json:"usual,omitempty"`
	Deployments map[string]DeploymentDrift `json:"deployments,omitempty"`
}

// DeploymentDrift is what DriftState stores of one deployment.
type DeploymentDrift struct {
	// Rules is the place of the deployment's rules in DriftState.Rules, from 1; 0 is none.
	Rules int `json:"rules,omitempty"`
	// Counts are set unless the deployment has the usual number of objects and all of them are
	// ready.
	Counts *status.Counts `json:"counts,omitempty"`
}

// DriftStateOf returns the drift state of records. shown is true if the state shows their objects.
func DriftStateOf(records map[deploy.Key]deploy.Record, shown bool) DriftState {
	var kept DriftState
	keys := slices.SortedFunc(maps.Keys(records), deploy.Key.Compare)
	if !shown {
		kept.Usual = usual(keys, records)
	}
	for _, key := range keys {
		record := records[key]
		var made DeploymentDrift
		if !record.Rules.IsZero() {
			made.Rules = 1 + slices.IndexFunc(kept.Rules, record.Rules.Equal)
			if made.Rules == 0 {
				kept.Rules = append(kept.Rules, record.Rules)
				made.Rules = len(kept.Rules)
			}
		}
		if !shown {
			record.Objects = nil
		}
		if record.Counts != kept.ordinary(key.Bundle, record) {
			made.Counts = &record.Counts
		}
		if made.Rules == 0 && made.Counts == nil {
			continue
		}
		if kept.Deployments == nil {
			kept.Deployments = map[string]DeploymentDrift{}
		}
		kept.Deployments[key.String()] = made
	}
	return kept
}

// usual is how many objects the deployments of each bundle have. It takes the first deployment
// whose objects are all ready.
func usual(keys []deploy.Key, records map[deploy.Key]deploy.Record) map[string]int {
	found := map[string]int{}
	for _, key := range keys {
		counts := records[key].Counts
		if _, known := found[key.Bundle]; !known && counts == (status.Counts{Ready: counts.Ready}) {
			found[key.Bundle] = counts.Ready
		}
	}
	return found
}

// ordinary are the counts of a deployment whose objects are all ready.
func (s DriftState) ordinary(bundle string, record deploy.Record) status.Counts {
	if usual, known := s.Usual[bundle]; known {
		return status.Counts{Ready: usual}
	}
	return status.Counts{Ready: len(record.Objects)}
}

// On adds the stored drift state of a deployment to its record. key is the deployment's key.
func (s DriftState) On(key string, record deploy.Record) deploy.Record {
	kept := s.Deployments[key]
	_, bundle, _ := strings.Cut(key, "/")
	record.Counts = s.ordinary(bundle, record)
	if kept.Counts != nil {
		record.Counts = *kept.Counts
	}
	if kept.Rules > 0 && kept.Rules <= len(s.Rules) {
		record.Rules = s.Rules[kept.Rules-1]
	}
	return record
}
