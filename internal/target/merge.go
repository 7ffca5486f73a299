package target

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// reset as a string option of a customization clears the option of the bundle.
const reset = "-"

// customize merges customizations with each other, and then over the options of a bundle
// (Fleet's internal/cmd/controller/options/calculate.go).
func customize(base fleetyaml.Options, customizations []*fleetyaml.Customization) fleetyaml.Options {
	if len(customizations) == 0 {
		return base
	}
	custom := customizations[0].Options
	for _, next := range customizations[1:] {
		custom = merge(custom, next.Options)
	}
	merged := merge(base, custom)
	// Unlike Fleet, which documents "-" but uses it literally.
	for option, said := range map[*string]string{
		&merged.DefaultNamespace: custom.DefaultNamespace,
		&merged.Namespace:        custom.Namespace,
		&merged.ServiceAccount:   custom.ServiceAccount,
	} {
		if said == reset {
			*option = ""
		}
	}
	return merged
}

// merge merges custom over base and changes neither. Unlike in Fleet, which never reads them, these
// options of custom apply too: createNamespace, deleteNamespace, deleteCRDResources, ignore, and
// helm's maxHistory and skipSchemaValidation. Namespace labels and annotations of custom apply only
// where custom applies.
func merge(base, custom fleetyaml.Options) fleetyaml.Options {
	merged := base
	merged.DefaultNamespace = cmp.Or(custom.DefaultNamespace, base.DefaultNamespace)
	merged.Namespace = cmp.Or(custom.Namespace, base.Namespace)
	merged.NamespaceLabels = mergeMaps(base.NamespaceLabels, custom.NamespaceLabels)
	merged.NamespaceAnnotations = mergeMaps(base.NamespaceAnnotations, custom.NamespaceAnnotations)
	merged.CreateNamespace = cmp.Or(custom.CreateNamespace, base.CreateNamespace)
	merged.Helm = mergeHelm(base.Helm, custom.Helm)
	merged.Ignore = cmp.Or(custom.Ignore, base.Ignore)
	merged.CorrectDrift = cmp.Or(custom.CorrectDrift, base.CorrectDrift)
	merged.ServiceAccount = cmp.Or(custom.ServiceAccount, base.ServiceAccount)
	if custom.ForceSyncGeneration > 0 {
		merged.ForceSyncGeneration = custom.ForceSyncGeneration
	}
	merged.KeepResources = base.KeepResources || custom.KeepResources
	merged.DeleteNamespace = base.DeleteNamespace || custom.DeleteNamespace
	merged.DeleteCRDResources = base.DeleteCRDResources || custom.DeleteCRDResources
	merged.DownstreamResources = mergeBy(base.DownstreamResources, custom.DownstreamResources, downstreamKey)

	if custom.Kustomize != nil && custom.Kustomize.Dir != "" {
		merged.Kustomize = custom.Kustomize
	}
	if custom.YAML != nil && len(custom.YAML.Overlays) > 0 {
		overlays := custom.YAML.Overlays
		if base.YAML != nil {
			overlays = slices.Concat(base.YAML.Overlays, overlays)
		}
		merged.YAML = &fleetyaml.YAML{Overlays: overlays}
	}
	if custom.Diff != nil && len(custom.Diff.ComparePatches) > 0 {
		patches := custom.Diff.ComparePatches
		if base.Diff != nil {
			patches = mergeBy(base.Diff.ComparePatches, patches, patchKey)
		}
		merged.Diff = &fleetyaml.Diff{ComparePatches: patches}
	}
	return merged
}

func mergeHelm(base, custom *fleetyaml.Helm) *fleetyaml.Helm {
	if custom == nil {
		return base
	}
	if base == nil {
		base = &fleetyaml.Helm{}
	}
	merged := *base // valuesFiles stay those of the bundle: all of them were read already.
	merged.Chart = cmp.Or(custom.Chart, base.Chart)
	merged.Repo = cmp.Or(custom.Repo, base.Repo)
	merged.Version = cmp.Or(custom.Version, base.Version)
	merged.CRDs = cmp.Or(custom.CRDs, base.CRDs)
	merged.ReleaseName = cmp.Or(custom.ReleaseName, base.ReleaseName)
	merged.Values = fleetyaml.MergeValues(base.Values, custom.Values)
	merged.ValuesFrom = mergeBy(base.ValuesFrom, custom.ValuesFrom, valuesFromKey)
	merged.TemplateValues = mergeMaps(base.TemplateValues, custom.TemplateValues)
	if custom.TimeoutSeconds != 0 {
		merged.TimeoutSeconds = max(0, custom.TimeoutSeconds)
	}
	if custom.MaxHistory > 0 {
		merged.MaxHistory = custom.MaxHistory
	}
	merged.Force = base.Force || custom.Force
	merged.Atomic = base.Atomic || custom.Atomic
	merged.TakeOwnership = base.TakeOwnership || custom.TakeOwnership
	merged.WaitForJobs = base.WaitForJobs || custom.WaitForJobs
	merged.DisablePreProcess = base.DisablePreProcess || custom.DisablePreProcess
	merged.DisableDNS = base.DisableDNS || custom.DisableDNS
	merged.SkipSchemaValidation = base.SkipSchemaValidation || custom.SkipSchemaValidation
	return &merged
}

// withCRDs decides helm.crds. It removes helm.crds where it has no effect, so that it changes no
// digest: the default, and a bundle without definitions.
func (p *plan) withCRDs(options fleetyaml.Options) fleetyaml.Options {
	helm := fleetyaml.Helm{}
	if options.Helm != nil {
		helm = *options.Helm
	}
	other := p.crds
	if other == fleetyaml.CRDsCreateReplace && options.Namespace != "" {
		other = "" // A bundle that is restricted to a namespace must not change definitions that others use.
	}
	settled := cmp.Or(helm.CRDs, other)
	if settled == fleetyaml.CRDsCreate || !p.bundle.MayHaveCRDs() {
		settled = ""
	}
	if settled == helm.CRDs {
		return options
	}
	helm.CRDs = settled
	options.Helm = &helm
	return options
}

func mergeMaps(base, custom map[string]string) map[string]string {
	if len(custom) == 0 {
		return base
	}
	merged := make(map[string]string, len(base)+len(custom))
	maps.Copy(merged, base)
	maps.Copy(merged, custom)
	return merged
}

// mergeBy replaces entries of base whose key an entry of custom also has. It appends the other
// entries of custom. An entry without a key is always appended.
func mergeBy[T any, K comparable](base, custom []T, key func(T) K) []T {
	if len(custom) == 0 {
		return base
	}
	var none K
	merged := slices.Clone(base)
	for _, entry := range custom {
		k := key(entry)
		i := slices.IndexFunc(merged, func(other T) bool { return k != none && key(other) == k })
		if i < 0 {
			merged = append(merged, entry)
			continue
		}
		merged[i] = entry
	}
	return merged
}

func downstreamKey(d fleetyaml.DownstreamResource) [2]string {
	return [2]string{strings.ToLower(d.Kind), d.Name}
}

func patchKey(p fleetyaml.ComparePatch) [4]string {
	return [4]string{p.APIVersion, p.Kind, p.Namespace, p.Name}
}

func valuesFromKey(v fleetyaml.ValuesFrom) [4]string {
	switch {
	case v.ConfigMapKeyRef != nil:
		return [4]string{"ConfigMap", v.ConfigMapKeyRef.Namespace, v.ConfigMapKeyRef.Name, v.ConfigMapKeyRef.Key}
	case v.SecretKeyRef != nil:
		return [4]string{"Secret", v.SecretKeyRef.Namespace, v.SecretKeyRef.Name, v.SecretKeyRef.Key}
	}
	return [4]string{}
}
