package fleetyaml

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// withoutEffect are keys of Fleet that mean nothing without its controllers, and
// what to use instead.
func withoutEffect() map[string]string {
	return map[string]string{
		"allowedTargetNamespaceSelector": "it is written by Fleet's controllers; restrict who may change the Terraform configuration instead",
		"downstreamResources":            "there is no management cluster to copy from; hand values over in Terraform, or make the Secret on each cluster and name it in helm.valuesFrom",
		"overwrites":                     "it is written by Fleet's controllers; objects that move between bundles are handed over by the apply",
	}
}

// validate finds what is wrong with values although their types are right.
func (c *checker) validate(root *yaml.Node, def Definition) {
	if mode := def.TargetCustomizationMode; mode != "" && mode != FirstMatch && mode != AllMatches {
		c.fail(lookup(root, "targetCustomizationMode"), Invalid, "targetCustomizationMode %q is neither %s nor %s", mode, FirstMatch, AllMatches)
	}
	if def.OverrideTargets != nil && len(def.OverrideTargets) == 0 {
		c.note(lookup(root, "overrideTargets"), Note,
			"overrideTargets is empty, so nothing limits where the bundle goes but its customizations; without any it goes to the cluster group \"default\"")
	}
	if len(def.ImageScans) > 0 {
		c.fail(lookup(root, "imageScans"), ImageScan,
			"imageScans need a controller that writes to the repository, as in Fleet; remove them and let CI, or a tool such as Renovate, write new tags")
	}
	for _, list := range []struct {
		key   string
		items []Customization
	}{{"targets", def.Targets}, {"targetCustomizations", def.TargetCustomizations}} {
		items := lookup(root, list.key)
		for i, item := range list.items {
			c.criteria(lookup(items, i), item.Criteria)
		}
	}
	overrides := lookup(root, "overrideTargets")
	for i, item := range def.OverrideTargets {
		c.criteria(lookup(overrides, i), item.Criteria)
	}
	if def.RolloutStrategy != nil {
		c.rollout(lookup(root, "rolloutStrategy"), *def.RolloutStrategy)
	}
	dependencies := lookup(root, "dependsOn")
	for i, dependency := range def.DependsOn {
		c.dependency(lookup(dependencies, i), dependency)
	}
}

func (c *checker) criteria(node *yaml.Node, criteria Criteria) {
	c.selector(lookup(node, "clusterSelector"), "clusterSelector", criteria.ClusterSelector)
	c.selector(lookup(node, "clusterGroupSelector"), "clusterGroupSelector", criteria.ClusterGroupSelector)
}

func (c *checker) selector(node *yaml.Node, name string, selector *Selector) {
	if _, err := selector.Compile(); err != nil {
		c.fail(node, BadSelector, "%s: %v", name, err)
	}
}

func (c *checker) rollout(node *yaml.Node, strategy RolloutStrategy) {
	c.count(node, "maxUnavailable", strategy.MaxUnavailable)
	c.count(node, "maxUnavailablePartitions", strategy.MaxUnavailablePartitions)
	c.count(node, "autoPartitionSize", strategy.AutoPartitionSize)
	partitions := lookup(node, "partitions")
	for i, partition := range strategy.Partitions {
		c.criteria(lookup(partitions, i), partition.Criteria)
		c.count(lookup(partitions, i), "maxUnavailable", partition.MaxUnavailable)
	}
}

func (c *checker) count(node *yaml.Node, name string, count *Count) {
	if count == nil {
		return
	}
	if _, err := count.Of(1); err != nil {
		c.fail(lookup(node, name), Invalid, "%s: %v", name, err)
	}
}

// dependency follows Fleet's internal/bundlereader/validate_fleetyaml.go.
func (c *checker) dependency(node *yaml.Node, dependency Dependency) {
	states := []string{"Ready", "NotReady", "WaitApplied", "ErrApplied", "OutOfSync", "Pending", "Modified"}
	if dependency.Name == "" && dependency.Selector == nil {
		c.fail(node, BadDependency, "an entry of dependsOn needs a name or a selector")
	}
	if _, err := dependency.Selector.Compile(); err != nil {
		c.fail(lookup(node, "selector"), BadDependency, "selector: %v", err)
	}
	for i, state := range dependency.AcceptedStates {
		if !slices.Contains(states, state) {
			c.fail(lookup(node, "acceptedStates", i), BadDependency, "%s",
				fmt.Sprintf("acceptedStates: %q is none of %s", state, strings.Join(states, ", ")))
		}
	}
}
