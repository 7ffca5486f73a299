package target

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// criteria are compiled for matching. A nil selector was not given.
type criteria struct {
	clusterName   string
	cluster       labels.Selector
	group         string
	groupSelector labels.Selector
}

func compile(c fleetyaml.Criteria) (criteria, error) {
	compiled := criteria{clusterName: c.ClusterName, group: c.ClusterGroup}
	var err error
	if c.ClusterSelector != nil {
		if compiled.cluster, err = c.ClusterSelector.Compile(); err != nil {
			return criteria{}, fmt.Errorf("cluster selector: %w", err)
		}
	}
	if c.ClusterGroupSelector != nil {
		if compiled.groupSelector, err = c.ClusterGroupSelector.Compile(); err != nil {
			return criteria{}, fmt.Errorf("cluster group selector: %w", err)
		}
	}
	return compiled, nil
}

// match reports whether all criteria match; without any criteria it returns false. The criteria
// about groups must match one and the same group. A cluster without groups is treated as in a group
// that has no name and no labels
// (Fleet's internal/cmd/controller/target/matcher/clustermatcher.go).
func (m criteria) match(c *candidate) bool {
	if m == (criteria{}) {
		return false
	}
	if m.clusterName != "" && !c.isCalled(m.clusterName) {
		return false
	}
	if m.cluster != nil && !m.cluster.Matches(labels.Set(c.Labels)) {
		return false
	}
	if m.group == "" && m.groupSelector == nil {
		return true
	}
	if len(c.groups) == 0 {
		return m.matchGroup("", nil)
	}
	return slices.ContainsFunc(c.groups, func(g *group) bool { return m.matchGroup(g.Name, g.Labels) })
}

func (m criteria) matchGroup(name string, set labels.Set) bool {
	return (m.group == "" || m.group == name) && (m.groupSelector == nil || m.groupSelector.Matches(set))
}

// matching returns the indices of the criteria that match the cluster.
func matching(all []criteria, c *candidate) []int {
	var indices []int
	for i, criteria := range all {
		if criteria.match(c) {
			indices = append(indices, i)
		}
	}
	return indices
}

// candidate is a cluster with what is computed once for all bundles.
type candidate struct {
	Cluster

	groups []*group
	// visible are the labels that templates can read.
	visible map[string]string
	// known and public are the cached results of context and publicContext.
	known, public map[string]any
}

// context returns what "." is in a template. It is the same for all bundles and must not be
// changed.
func (c *candidate) context() map[string]any {
	if c.known == nil {
		c.known = map[string]any{
			"ClusterName":        c.Name,
			"ClusterNamespace":   c.Namespace,
			"ClusterLabels":      anyMap(c.visible),
			"ClusterAnnotations": anyMap(VisibleAnnotations(c.Annotations)),
			"ClusterValues":      fleetyaml.CopyValues(c.TemplateValues),
		}
	}
	return c.known
}

// publicContext returns the part of the context that a plan may print. It must not be changed.
func (c *candidate) publicContext() map[string]any {
	if c.public == nil {
		c.public = map[string]any{"ClusterName": c.Name, "ClusterNamespace": c.Namespace, "ClusterLabels": anyMap(c.visible)}
	}
	return c.public
}

func (c *candidate) isCalled(name string) bool {
	return c.Name == name || (c.DisplayName != "" && c.DisplayName == name) || c.Labels[wellknown.ClusterDisplayName] == name
}

type group struct {
	Group

	selector labels.Selector
}

// candidates returns the clusters sorted by name. Two clusters of one name are an error.
func candidates(clusters []Cluster, all []Group) ([]*candidate, error) {
	groups := make([]*group, len(all))
	for i, g := range all {
		selector, err := g.Selector.Compile()
		if err != nil {
			return nil, fmt.Errorf("cluster group %s: %w", g.Name, err)
		}
		groups[i] = &group{Group: g, selector: selector}
	}
	found := make([]*candidate, len(clusters))
	for i, cluster := range clusters {
		found[i] = &candidate{Cluster: cluster, visible: visibleLabels(cluster.Labels)}
		for _, g := range groups {
			if g.selector.Matches(labels.Set(cluster.Labels)) {
				found[i].groups = append(found[i].groups, g)
			}
		}
	}
	slices.SortFunc(found, func(a, b *candidate) int { return strings.Compare(a.Name, b.Name) })
	for i := 1; i < len(found); i++ {
		if found[i].Name == found[i-1].Name {
			return nil, fmt.Errorf("two clusters are called %q", found[i].Name)
		}
	}
	return found, nil
}

// compileRules compiles rules for matching and refuses names that do not exist.
func compileRules(rules []Rule, clusters []*candidate, groups []Group) ([]criteria, error) {
	compiled := make([]criteria, len(rules))
	for i, rule := range rules {
		c, err := compile(rule)
		if err == nil {
			err = errors.Join(clusterExists(rule.ClusterName, clusters), groupExists(rule.ClusterGroup, groups))
		}
		if err != nil {
			return nil, &RuleError{Index: i, Err: err}
		}
		compiled[i] = c
	}
	return compiled, nil
}

func clusterExists(name string, clusters []*candidate) error {
	if name == "" || slices.ContainsFunc(clusters, func(c *candidate) bool { return c.isCalled(name) }) {
		return nil
	}
	known := make([]string, len(clusters))
	for i, c := range clusters {
		known[i] = c.Name
	}
	return fmt.Errorf("no cluster is called %q; %s", name, listing("clusters", known))
}

func groupExists(name string, groups []Group) error {
	known := make(map[string]bool, len(groups))
	for _, g := range groups {
		known[g.Name] = true
	}
	if name == "" || known[name] {
		return nil
	}
	return fmt.Errorf("no cluster group is called %q; %s", name, listing("cluster groups", slices.Sorted(maps.Keys(known))))
}

// Match returns the clusters that at least one rule matches, sorted by name.
//
// Errors: *RuleError, also if a rule names a cluster or a group that does not exist.
func Match(rules []Rule, clusters []Cluster, groups []Group) ([]Cluster, error) {
	all, err := candidates(clusters, groups)
	if err != nil {
		return nil, err
	}
	compiled, err := compileRules(rules, all, groups)
	if err != nil {
		return nil, err
	}
	return matched(compiled, all), nil
}

// MatchExisting returns the clusters that at least one rule matches, sorted by name. A rule may name a
// cluster or a group that does not exist.
//
// Errors: *RuleError.
func MatchExisting(rules []Rule, clusters []Cluster, groups []Group) ([]Cluster, error) {
	all, err := candidates(clusters, groups)
	if err != nil {
		return nil, err
	}
	compiled := make([]criteria, len(rules))
	for i, rule := range rules {
		if compiled[i], err = compile(rule); err != nil {
			return nil, &RuleError{Index: i, Err: err}
		}
	}
	return matched(compiled, all), nil
}

func matched(rules []criteria, all []*candidate) []Cluster {
	var matched []Cluster
	for _, c := range all {
		if slices.ContainsFunc(rules, func(rule criteria) bool { return rule.match(c) }) {
			matched = append(matched, c.Cluster)
		}
	}
	return matched
}
