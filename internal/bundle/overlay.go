package bundle

import (
	"fmt"
	"maps"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// Overlay has the settings that a GitRepo applies to each of its bundles.
type Overlay struct {
	TargetNamespace     string                  `json:"targetNamespace,omitempty"`
	ServiceAccount      string                  `json:"serviceAccount,omitempty"`
	Labels              map[string]string       `json:"labels,omitempty"`
	Paused              bool                    `json:"paused,omitempty"`
	KeepResources       bool                    `json:"keepResources,omitempty"`
	DeleteNamespace     bool                    `json:"deleteNamespace,omitempty"`
	CorrectDrift        *fleetyaml.CorrectDrift `json:"correctDrift,omitempty"`
	ForceSyncGeneration int64                   `json:"forceSyncGeneration,omitempty"`
}

// on applies o to a definition, as Fleet does (internal/bundlereader/read.go): options that are
// true stay true, labels of the bundle win, and forceSyncGeneration is always that of the
// GitRepo.
func (o Overlay) on(def fleetyaml.Definition) fleetyaml.Definition {
	if len(o.Labels) > 0 {
		labels := maps.Clone(o.Labels)
		maps.Copy(labels, def.Labels)
		def.Labels = labels
	}
	// The caller keeps its definition.
	def.Targets, def.TargetCustomizations = slices.Clone(def.Targets), slices.Clone(def.TargetCustomizations)
	if o.ServiceAccount != "" {
		// In Fleet, a customization in the repository can choose another account. Here it cannot,
		// because it would act with rights that were not given to the repository.
		def.ServiceAccount = o.ServiceAccount
		for _, customization := range def.Customizations() {
			customization.ServiceAccount = o.ServiceAccount
		}
	}
	if o.TargetNamespace != "" {
		def.Namespace = o.TargetNamespace
		for _, customization := range def.Customizations() {
			customization.Namespace = o.TargetNamespace
		}
	}
	def.CorrectDrift = o.driftCorrection(def.CorrectDrift)
	def.Paused = def.Paused || o.Paused
	def.KeepResources = def.KeepResources || o.KeepResources
	def.DeleteNamespace = def.DeleteNamespace || o.DeleteNamespace
	def.ForceSyncGeneration = o.ForceSyncGeneration
	return def
}

// driftCorrection returns correctDrift of a bundle. As in Fleet, correctDrift of the GitRepo
// replaces it if enabled is true, and is ignored without enabled. Drift is corrected here by
// default, so enabled: false also has an effect: on bundles that do not set enabled.
func (o Overlay) driftCorrection(own *fleetyaml.CorrectDrift) *fleetyaml.CorrectDrift {
	laid := o.CorrectDrift
	switch {
	case laid == nil || laid.Enabled == nil:
		return own
	case *laid.Enabled || own == nil:
		return laid
	case own.Enabled != nil:
		return own
	}
	merged := *own
	merged.Enabled = laid.Enabled
	return &merged
}

// notes reports settings of a definition, or of o, that have no effect because of the other. file
// is the file of the definition.
func (o Overlay) notes(file string, def fleetyaml.Definition) []fleetyaml.Problem {
	var notes []fleetyaml.Problem
	note := func(format string, args ...any) {
		notes = append(notes, fleetyaml.Problem{File: file, Kind: fleetyaml.Note, Message: fmt.Sprintf(format, args...)})
	}
	if def.ForceSyncGeneration != 0 && def.ForceSyncGeneration != o.ForceSyncGeneration {
		note("forceSyncGeneration %d has no effect: as in Fleet, the value of the GitRepo applies; set force_sync_generation of "+
			"the fleet_gitrepo", def.ForceSyncGeneration)
	}
	laid, own := o.CorrectDrift, def.CorrectDrift
	if laid == nil || laid.Enabled == nil || own == nil || own.Enabled == nil || *laid.Enabled == *own.Enabled {
		return notes
	}
	if *laid.Enabled {
		note("correctDrift.enabled: false has no effect: correct_drift of the fleet_gitrepo corrects the drift of all bundles")
		return notes
	}
	note("correct_drift of the fleet_gitrepo has no effect on this bundle, which has correctDrift.enabled: true")
	return notes
}
