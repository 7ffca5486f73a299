package fleetyaml

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// notYet are the options of Fleet that this version does not act upon. A
// fleet.yaml that asks for one is refused, because doing something else without
// a word would be worse. Whoever makes one work deletes its line.
func notYet() map[string]bool {
	return map[string]bool{
		"correctDrift":         true,
		"deleteCRDResources":   true,
		"deleteNamespace":      true,
		"dependsOn":            true,
		"diff":                 true,
		"downstreamResources":  true,
		"helm.repo":            true,
		"helm.valuesFrom":      true,
		"helm.version":         true,
		"ignore":               true,
		"imageScans":           true,
		"keepResources":        true,
		"kustomize":            true,
		"namespaceAnnotations": true,
		"namespaceLabels":      true,
		"rolloutStrategy":      true,
		"serviceAccount":       true,
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
	c.chart(lookup(root, "helm", "chart"), def.Options)
	for _, list := range []struct {
		key   string
		items []Customization
	}{{"targets", def.Targets}, {"targetCustomizations", def.TargetCustomizations}} {
		for i, item := range list.items {
			node := lookup(root, list.key, i)
			c.criteria(node, item.Criteria)
			c.chart(lookup(node, "helm", "chart"), item.Options)
		}
	}
	for i, item := range def.OverrideTargets {
		c.criteria(lookup(root, "overrideTargets", i), item.Criteria)
	}
	if def.RolloutStrategy != nil {
		for i, partition := range def.RolloutStrategy.Partitions {
			c.criteria(lookup(root, "rolloutStrategy", "partitions", i), partition.Criteria)
		}
	}
	for i, dependency := range def.DependsOn {
		c.dependency(lookup(root, "dependsOn", i), dependency)
	}
}

func (c *checker) criteria(node *yaml.Node, criteria Criteria) {
	c.selector(lookup(node, "clusterSelector"), "clusterSelector", criteria.ClusterSelector)
	c.selector(lookup(node, "clusterGroupSelector"), "clusterGroupSelector", criteria.ClusterGroupSelector)
}

func (c *checker) selector(node *yaml.Node, name string, selector *Selector) {
	if _, err := selector.Compile(); err != nil {
		c.fail(node, Invalid, "%s: %v", name, err)
	}
}

// chart refuses charts that have to be fetched, as far as that can be told from
// how they are written.
func (c *checker) chart(node *yaml.Node, options Options) {
	if options.Helm == nil {
		return
	}
	for _, mark := range []string{"://", "::", "git@"} {
		if strings.Contains(options.Helm.Chart, mark) {
			c.fail(node, NotYet, "a helm.chart from elsewhere than the bundle is not supported yet by this version")
			return
		}
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
