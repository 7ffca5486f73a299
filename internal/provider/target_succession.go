package provider

import (
	"maps"
	"slices"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// successions are targets that were deleted to be replaced, until their replacement
// is created. Terraform hands nothing from the one to the other, but does both in one
// process. Whoever replaces a target goes on as the same instance: what it wants is
// its own already, and what it does not want it can remove.
type successions struct {
	mu     sync.Mutex
	byName map[string]predecessor
}

// predecessor is what a replaced target left.
type predecessor struct {
	instance string
	// records are the deployments that were not removed with it.
	records map[deploy.Key]deploy.Record
	lost    map[deploy.Key]release.Known
	uids    map[string]string
}

// leave notes what a target leaves to the one that will have the given name.
func (s *successions) leave(name string, left predecessor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byName == nil {
		s.byName = map[string]predecessor{}
	}
	s.byName[name] = left
}

// take answers what was left to the target of that name, once.
func (s *successions) take(name string) predecessor {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := s.byName[name]
	delete(s.byName, name)
	return left
}

// model is the state that the replacement begins with. It has no name, so that every
// release is looked at and marked anew.
func (p predecessor) model() *targetModel {
	before := &targetModel{ID: types.StringValue(p.instance), lost: p.lost}
	before.setRecords(p.records)
	return before
}

// takeOver makes what a replaced target left the state of its replacement, which could not
// be begun.
func (m *targetModel) takeOver(left predecessor) {
	m.lost = left.lost
	m.setRecords(left.records)
	if m.Summary.IsUnknown() {
		m.Summary = types.StringValue("")
	}
	if m.Stages.IsUnknown() {
		m.Stages = types.StringValue("")
	}
}

// without takes out what was removed.
func without(records map[deploy.Key]deploy.Record, removed []deploy.Key) map[deploy.Key]deploy.Record {
	left := maps.Clone(records)
	maps.DeleteFunc(left, func(key deploy.Key, _ deploy.Record) bool { return slices.Contains(removed, key) })
	return left
}
