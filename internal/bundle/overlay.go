package bundle

import (
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
// always that of the GitRepo. That drift is not corrected, which Fleet need not be
// told, counts for bundles that say nothing of it.
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
	if drift := o.CorrectDrift; drift != nil && drift.Enabled != nil && (*drift.Enabled || def.CorrectDrift == nil) {
		def.CorrectDrift = drift
	}
	def.Paused = def.Paused || o.Paused
	def.KeepResources = def.KeepResources || o.KeepResources
	def.DeleteNamespace = def.DeleteNamespace || o.DeleteNamespace
	def.ForceSyncGeneration = o.ForceSyncGeneration
	return def
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
