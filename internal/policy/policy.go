// Package policy checks what is to be deployed against rules of the configuration: sources,
// namespaces, service accounts, kinds, images, labels and limits. It reads plain values and sends
// no request to a cluster.
package policy

import (
	"errors"
	"fmt"
	"slices"

	"github.com/Masterminds/semver/v3"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Action is the consequence of a violation.
type Action string

// The actions.
const (
	// Deny turns a violation into an error.
	Deny Action = "deny"
	// Warn turns a violation into a warning.
	Warn Action = "warn"
)

// Policy is a set of rules for some deployments. Lists that are nil restrict nothing, and empty
// lists allow nothing.
type Policy struct {
	Name   string
	Action Action

	Scope Scope

	Repositories []string
	Charts       []Chart
	Namespaces   []string
	Accounts     *ServiceAccounts
	// AllowedKinds and DeniedKinds are patterns of kinds, with or without their group.
	AllowedKinds, DeniedKinds []string
	// ClusterScoped is false if objects without a namespace are refused.
	ClusterScoped       *bool
	ImageRegistries     []string
	Labels, Annotations map[string]string
	// MaxObjects is for each deployment, and MaxReplicas for each object.
	MaxObjects, MaxReplicas *int64

	fleet *fleetRules
}

// Scope selects the deployments that a policy is for. All parts that are not nil must match.
type Scope struct {
	Clusters []target.Rule
	// Bundles are patterns of names, and BundleSelector selects labels.
	Bundles        []string
	BundleSelector *fleetyaml.Selector
	// Repositories are patterns of the URLs of bundles' repositories.
	Repositories []string

	origin origin
}

// origin restricts a translated policy to the sources that it applies to in Fleet.
type origin int

const (
	anyOrigin origin = iota
	fromRepository
	fromChart
	fromElsewhere
)

// Chart is a pattern for allowed charts.
type Chart struct {
	// Source is a pattern of the address, and Version a constraint, "" for all versions.
	Source, Version string
}

// ServiceAccounts are the accounts that may deploy.
type ServiceAccounts struct {
	Allowed []string
	// Default is set on deployments without an account.
	Default  string
	Required bool
}

// compiled is a policy that is compiled for checks.
type compiled struct {
	name     string
	action   Action
	clusters map[string]bool // nil for all.
	bundles  patterns
	labels   labels.Selector // nil for all.
	from     patterns
	origin   origin

	repositories    patterns
	charts          []allowedChart // nil for no rule.
	namespaces      patterns
	accounts        *allowedAccounts
	allowed, denied patterns
	clusterScoped   bool
	registries      patterns
	objectLabels    []requirement
	annotations     []requirement
	maxObjects      int64 // negative for no limit.
	maxReplicas     int64
	fleet           *fleetRules
}

type allowedChart struct {
	source  pattern
	version *semver.Constraints
	text    string
}

type allowedAccounts struct {
	allowed  patterns
	preset   string
	required bool
}

type requirement struct {
	key   string
	value pattern
}

// maxPolicies limits the number of policies.
const maxPolicies = 1000

func (p Policy) compile(clusters []target.Cluster, groups []target.Group) (compiled, error) {
	c := compiled{
		name: p.Name, action: p.Action, origin: p.Scope.origin, fleet: p.fleet,
		clusterScoped: p.ClusterScoped == nil || *p.ClusterScoped, maxObjects: limitOf(p.MaxObjects), maxReplicas: limitOf(p.MaxReplicas),
	}
	if c.action == "" {
		c.action = Deny
	}
	if p.hasNoRules() {
		return compiled{}, errors.New("it has no rules")
	}
	if err := c.compileScope(p, clusters, groups); err != nil {
		return compiled{}, err
	}
	for _, list := range []struct {
		field string
		texts []string
		to    *patterns
	}{
		{"repositories", p.Repositories, &c.repositories},
		{"namespaces", p.Namespaces, &c.namespaces},
		{"allowed_kinds", p.AllowedKinds, &c.allowed},
		{"denied_kinds", p.DeniedKinds, &c.denied},
		{"image_registries", p.ImageRegistries, &c.registries},
	} {
		var err error
		if *list.to, err = compileGlobs(list.texts); err != nil {
			return compiled{}, fmt.Errorf("%s: %w", list.field, err)
		}
	}
	return c, errors.Join(c.compileCharts(p), c.compileAccounts(p), c.compileRequirements(p))
}

func limitOf(limit *int64) int64 {
	if limit == nil {
		return -1
	}
	return *limit
}

func (p Policy) hasNoRules() bool {
	return p.Repositories == nil && p.Charts == nil && p.Namespaces == nil && p.Accounts == nil && p.AllowedKinds == nil && p.DeniedKinds == nil &&
		p.ClusterScoped == nil && p.ImageRegistries == nil && p.Labels == nil && p.Annotations == nil && p.MaxObjects == nil && p.MaxReplicas == nil && p.fleet == nil
}

// compileScope refuses a scope that would select nothing: no one would notice such a policy.
func (c *compiled) compileScope(p Policy, clusters []target.Cluster, groups []target.Group) (err error) {
	invalid := func(field string, err error) error {
		return fmt.Errorf("applies_to.%s: %w", field, err)
	}
	empty := errors.New("the list is empty, so the policy would apply to nothing")
	if p.Scope.Clusters != nil {
		if len(p.Scope.Clusters) == 0 {
			return invalid("clusters", empty)
		}
		if slices.Contains(p.Scope.Clusters, target.Rule{}) {
			return invalid("clusters", errors.New("an element without criteria matches no cluster"))
		}
		matched, err := target.Match(p.Scope.Clusters, clusters, groups)
		if err != nil {
			return invalid("clusters", err)
		}
		c.clusters = make(map[string]bool, len(matched))
		for _, cluster := range matched {
			c.clusters[cluster.Name] = true
		}
	}
	for field, list := range map[string][]string{"bundles": p.Scope.Bundles, "repositories": p.Scope.Repositories} {
		if list != nil && len(list) == 0 {
			return invalid(field, empty)
		}
	}
	if c.bundles, err = compileGlobs(p.Scope.Bundles); err != nil {
		return invalid("bundles", err)
	}
	if c.from, err = compileGlobs(p.Scope.Repositories); err != nil {
		return invalid("repositories", err)
	}
	if p.Scope.BundleSelector != nil {
		if c.labels, err = p.Scope.BundleSelector.Compile(); err != nil {
			return invalid("bundle_selector", err)
		}
	}
	return nil
}

func (c *compiled) compileCharts(p Policy) error {
	if p.Charts == nil {
		return nil
	}
	c.charts = []allowedChart{}
	for _, chart := range p.Charts {
		source, err := compileGlob(chart.Source)
		if err != nil {
			return fmt.Errorf("charts: %w", err)
		}
		made := allowedChart{source: source, text: chart.Source}
		if chart.Version != "" {
			if made.version, err = semver.NewConstraint(chart.Version); err != nil {
				return fmt.Errorf("charts: version %q: %w", chart.Version, err)
			}
			made.text += " " + chart.Version
		}
		c.charts = append(c.charts, made)
	}
	return nil
}

func (c *compiled) compileAccounts(p Policy) (err error) {
	if p.Accounts == nil {
		return nil
	}
	c.accounts = &allowedAccounts{preset: p.Accounts.Default, required: p.Accounts.Required}
	if c.accounts.allowed, err = compileGlobs(p.Accounts.Allowed); err != nil {
		return fmt.Errorf("service_accounts.allowed: %w", err)
	}
	if c.accounts.preset != "" && !c.accounts.allowed.allow(c.accounts.preset) {
		return fmt.Errorf("service_accounts.default: %q is not in allowed", c.accounts.preset)
	}
	return nil
}

func (c *compiled) compileRequirements(p Policy) (err error) {
	if c.objectLabels, err = requirementsOf(p.Labels); err != nil {
		return fmt.Errorf("labels: %w", err)
	}
	if c.annotations, err = requirementsOf(p.Annotations); err != nil {
		return fmt.Errorf("annotations: %w", err)
	}
	return nil
}

// matches reports whether a policy is for a deployment.
func (c *compiled) matches(d Deployment) bool {
	switch {
	case c.clusters != nil && !c.clusters[d.Cluster],
		c.bundles != nil && !c.bundles.match(d.Bundle),
		c.labels != nil && !c.labels.Matches(labels.Set(d.Labels)),
		c.from != nil && (d.Repository == "" || !c.from.match(d.Repository)),
		c.origin != anyOrigin && c.origin != d.origin():
		return false
	}
	return true
}

// origin returns what Fleet would have made the bundle from: a GitRepo, a HelmOp or neither.
func (d Deployment) origin() origin {
	switch {
	case d.Repository != "":
		return fromRepository
	case len(d.Charts) > 0:
		return fromChart
	}
	return fromElsewhere
}

// Masked returns violations whose texts quote nothing that must not be printed.
func Masked(violations []Violation, mask func(text string) string) []Violation {
	for i := range violations {
		violations[i].Text, violations[i].Object = mask(violations[i].Text), mask(violations[i].Object)
	}
	return violations
}
