package bundle

import (
	"fmt"
	"maps"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// Overlay is what a GitRepo lays on each of its bundles.
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

// on lays o on a definition, as Fleet does (internal/bundlereader/read.go): what
// is true stays true, labels of the bundle win, and forceSyncGeneration is
// always that of the GitRepo.
func (o Overlay) on(def fleetyaml.Definition) fleetyaml.Definition {
	if len(o.Labels) > 0 {
		labels := maps.Clone(o.Labels)
		maps.Copy(labels, def.Labels)
		def.Labels = labels
	}
	if o.ServiceAccount != "" {
		// Other than in Fleet, where a customization in the repository chooses another
		// account: it would act with rights that nobody gave to the repository.
		def.ServiceAccount = o.ServiceAccount
		def.Targets = actingAs(def.Targets, o.ServiceAccount)
		def.TargetCustomizations = actingAs(def.TargetCustomizations, o.ServiceAccount)
	}
	if o.TargetNamespace != "" {
		def.Namespace = o.TargetNamespace
		def.Targets = inNamespace(def.Targets, o.TargetNamespace)
		def.TargetCustomizations = inNamespace(def.TargetCustomizations, o.TargetNamespace)
	}
	def.CorrectDrift = o.driftCorrection(def.CorrectDrift)
	def.Paused = def.Paused || o.Paused
	def.KeepResources = def.KeepResources || o.KeepResources
	def.DeleteNamespace = def.DeleteNamespace || o.DeleteNamespace
	def.ForceSyncGeneration = o.ForceSyncGeneration
	return def
}

// driftCorrection is correctDrift of a bundle. As in Fleet, that of the GitRepo replaces it with
// enabled: true and is left out without. Drift is corrected here by default, so enabled: false
// has an effect, too: on bundles that set no enabled.
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

// notes report what of a definition, or of o, has no effect because of the other. file is where
// the definition was read.
func (o Overlay) notes(file string, def fleetyaml.Definition) []fleetyaml.Problem {
	var notes []fleetyaml.Problem
	note := func(format string, args ...any) {
		notes = append(notes, fleetyaml.Problem{File: file, Kind: fleetyaml.Note, Message: fmt.Sprintf(format, args...)})
	}
	if def.ForceSyncGeneration != 0 && def.ForceSyncGeneration != o.ForceSyncGeneration {
		note("forceSyncGeneration %d has no effect: as in Fleet, the value of the GitRepo applies; set force_sync_generation of the fleet_gitrepo", def.ForceSyncGeneration)
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

func actingAs(customizations []fleetyaml.Customization, account string) []fleetyaml.Customization {
	set := slices.Clone(customizations)
	for i := range set {
		set[i].ServiceAccount = account
	}
	return set
}

func inNamespace(customizations []fleetyaml.Customization, namespace string) []fleetyaml.Customization {
	moved := make([]fleetyaml.Customization, len(customizations))
	for i, customization := range customizations {
		customization.Namespace = namespace
		moved[i] = customization
	}
	return moved
}
