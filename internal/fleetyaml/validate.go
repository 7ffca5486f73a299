package fleetyaml

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// withoutEffect returns keys of Fleet that have no effect without its controllers, or in this
// provider, and what to use instead.
func withoutEffect() map[string]string {
	return map[string]string{
		"allowedTargetNamespaceSelector": "Fleet's controllers set it; restrict who may change the Terraform configuration instead",
		"correctDrift.keepFailHistory":   "failed revisions are always kept, as far as the history goes",
		"downstreamResources": "there is no management cluster to copy from; pass values in Terraform, or create the " +
			"Secret on each cluster and let the chart's values come from it",
		"overwrites": "Fleet's controllers set it; the apply moves objects between bundles",
	}
}

// validator finds wrong values whose types are right.
type validator struct {
	report *report
	// imageScans is set if something scans images.
	imageScans bool
}

func (v validator) definition(root *yaml.Node, def Definition) {
	if mode := def.TargetCustomizationMode; mode != "" && mode != FirstMatch && mode != AllMatches {
		v.report.fail(lookup(root, "targetCustomizationMode"), Invalid, "%s %q is neither %s nor %s",
			option("targetCustomizationMode"), mode, FirstMatch, AllMatches)
	}
	if def.OverrideTargets != nil && len(def.OverrideTargets) == 0 {
		v.report.note(lookup(root, "overrideTargets"), Note,
			"%s is empty, so only customizations limit the targets of the bundle; without customizations it is deployed to the "+
				"cluster group \"default\"", option("overrideTargets"))
	}
	scans := lookup(root, "imageScans")
	if len(def.ImageScans) > 0 && !v.imageScans {
		v.report.fail(scans, ImageScansOff, "imageScans need image_scans = true of the fleet_gitrepo; set it, or remove them")
	}
	for i, scan := range def.ImageScans {
		v.imageScan(lookup(scans, i), scan)
	}
	if len(def.Annotations) > 0 {
		v.report.note(lookup(root, "annotations"), Note,
			"annotations have no effect here: Fleet sets them on its Bundle object, which does not exist here")
	}
	for _, list := range []struct {
		key   string
		items []Customization
	}{{"targets", def.Targets}, {"targetCustomizations", def.TargetCustomizations}} {
		items := lookup(root, list.key)
		for i, item := range list.items {
			v.criteria(lookup(items, i), item.Criteria)
			if item.Helm != nil && item.Helm.DisableDependencyUpdate {
				v.report.note(lookup(items, i, "helm", "disableDependencyUpdate"), Note,
					"%s of a customization has no effect, as in Fleet: dependencies are fetched once for all clusters; set it in helm of "+
						"the root", option("disableDependencyUpdate"))
			}
		}
	}
	overrides := lookup(root, "overrideTargets")
	for i, item := range def.OverrideTargets {
		v.criteria(lookup(overrides, i), item.Criteria)
	}
	if def.RolloutStrategy != nil {
		v.rollout(lookup(root, "rolloutStrategy"), *def.RolloutStrategy)
	}
	dependencies := lookup(root, "dependsOn")
	for i, dependency := range def.DependsOn {
		v.dependency(lookup(dependencies, i), dependency)
	}
}

func (v validator) criteria(node *yaml.Node, criteria Criteria) {
	v.selector(lookup(node, "clusterSelector"), "clusterSelector", criteria.ClusterSelector)
	v.selector(lookup(node, "clusterGroupSelector"), "clusterGroupSelector", criteria.ClusterGroupSelector)
}

func (v validator) selector(node *yaml.Node, name string, selector *Selector) {
	if _, err := selector.Compile(); err != nil {
		v.report.fail(node, BadSelector, "%s: %v", option(name), err)
	}
}

func (v validator) rollout(node *yaml.Node, strategy RolloutStrategy) {
	v.count(node, "maxUnavailable", strategy.MaxUnavailable)
	v.count(node, "maxUnavailablePartitions", strategy.MaxUnavailablePartitions)
	v.count(node, "autoPartitionSize", strategy.AutoPartitionSize)
	if len(strategy.Partitions) > 0 && (strategy.AutoPartitionSize != nil || strategy.AutoPartitionThreshold != nil) {
		v.report.note(node, Note, "%s and %s of the rollout strategy have no effect beside partitions",
			option("autoPartitionSize"), option("autoPartitionThreshold"))
	}
	partitions := lookup(node, "partitions")
	for i, partition := range strategy.Partitions {
		v.criteria(lookup(partitions, i), partition.Criteria)
		v.count(lookup(partitions, i), "maxUnavailable", partition.MaxUnavailable)
	}
}

func (v validator) count(node *yaml.Node, name string, count *Count) {
	if count == nil {
		return
	}
	if _, err := count.Of(1); err != nil {
		v.report.fail(lookup(node, name), Invalid, "%s: %v", option(name), err)
	}
}

// dependency follows Fleet's internal/bundlereader/validate_fleetyaml.go.
func (v validator) dependency(node *yaml.Node, dependency Dependency) {
	states := []string{"Ready", "NotReady", "WaitApplied", "ErrApplied", "OutOfSync", "Pending", "Modified"}
	if dependency.Name == "" && dependency.Selector == nil {
		v.report.fail(node, BadDependency, "an entry of %s needs a name or a selector", option("dependsOn"))
	}
	if _, err := dependency.Selector.Compile(); err != nil {
		v.report.fail(lookup(node, "selector"), BadDependency, "selector: %v", err)
	}
	for i, state := range dependency.AcceptedStates {
		if !slices.Contains(states, state) {
			v.report.fail(lookup(node, "acceptedStates", i), BadDependency,
				"%s: %q is not one of %s", option("acceptedStates"), state, strings.Join(states, ", "))
		}
	}
}
