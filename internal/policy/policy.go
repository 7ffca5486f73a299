// Package policy checks what is to be deployed against rules of the configuration: sources,
// namespaces, service accounts, kinds, images, labels and limits. It reads plain values and sends
// no request to a cluster.
package policy

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

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
	Policy

	clusters map[string]bool // nil for all.
	bundles  patterns
	labels   labels.Selector // nil for all.
	from     patterns

	repositories    patterns
	charts          []allowedChart // nil for no rule.
	namespaces      patterns
	accounts        patterns // Those that Accounts allows.
	allowed, denied patterns
	registries      patterns
	objectLabels    []requirement
	annotations     []requirement
}

type allowedChart struct {
	source  pattern
	version *semver.Constraints
	text    string
}

type requirement struct {
	key   string
	value pattern
}

// maxPolicies limits the number of policies.
const maxPolicies = 1000

func (p Policy) compile(clusters []target.Cluster, groups []target.Group) (compiled, error) {
	c := compiled{Policy: p}
	c.Action = cmp.Or(p.Action, Deny)
	if p.hasNoRules() {
		return compiled{}, errors.New("it has no rules")
	}
	if err := c.compileScope(clusters, groups); err != nil {
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
	return c, errors.Join(c.compileCharts(), c.compileAccounts(), c.compileRequirements())
}

func (p Policy) hasNoRules() bool {
	return p.Repositories == nil && p.Charts == nil && p.Namespaces == nil && p.Accounts == nil && p.AllowedKinds == nil && p.DeniedKinds == nil &&
		p.ClusterScoped == nil && p.ImageRegistries == nil && p.Labels == nil && p.Annotations == nil && p.MaxObjects == nil && p.MaxReplicas == nil && p.fleet == nil
}

// compileScope refuses a scope that would select nothing: no one would notice such a policy.
func (c *compiled) compileScope(clusters []target.Cluster, groups []target.Group) (err error) {
	invalid := func(field string, err error) error {
		return fmt.Errorf("applies_to.%s: %w", field, err)
	}
	empty := errors.New("the list is empty, so the policy would apply to nothing")
	if c.Scope.Clusters != nil {
		if len(c.Scope.Clusters) == 0 {
			return invalid("clusters", empty)
		}
		if slices.Contains(c.Scope.Clusters, target.Rule{}) {
			return invalid("clusters", errors.New("an element without criteria matches no cluster"))
		}
		matched, err := target.Match(c.Scope.Clusters, clusters, groups)
		if err != nil {
			return invalid("clusters", err)
		}
		c.clusters = make(map[string]bool, len(matched))
		for _, cluster := range matched {
			c.clusters[cluster.Name] = true
		}
	}
	for field, list := range map[string][]string{"bundles": c.Scope.Bundles, "repositories": c.Scope.Repositories} {
		if list != nil && len(list) == 0 {
			return invalid(field, empty)
		}
	}
	if c.bundles, err = compileGlobs(c.Scope.Bundles); err != nil {
		return invalid("bundles", err)
	}
	if c.from, err = compileGlobs(c.Scope.Repositories); err != nil {
		return invalid("repositories", err)
	}
	if c.Scope.BundleSelector != nil {
		if c.labels, err = c.Scope.BundleSelector.Compile(); err != nil {
			return invalid("bundle_selector", err)
		}
	}
	return nil
}

func (c *compiled) compileCharts() error {
	if c.Charts == nil {
		return nil
	}
	c.charts = []allowedChart{}
	for _, chart := range c.Charts {
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

func (c *compiled) compileAccounts() (err error) {
	if c.Accounts == nil {
		return nil
	}
	if c.accounts, err = compileGlobs(c.Accounts.Allowed); err != nil {
		return fmt.Errorf("service_accounts.allowed: %w", err)
	}
	if c.Accounts.Default != "" && !c.accounts.allow(c.Accounts.Default) {
		return fmt.Errorf("service_accounts.default: %q is not in allowed", c.Accounts.Default)
	}
	return nil
}

func (c *compiled) compileRequirements() (err error) {
	if c.objectLabels, err = requirementsOf(c.Labels); err != nil {
		return fmt.Errorf("labels: %w", err)
	}
	if c.annotations, err = requirementsOf(c.Annotations); err != nil {
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
		c.Scope.origin != anyOrigin && c.Scope.origin != d.origin():
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

// allows reports whether a chart is allowed. The version of a dependency is not known, so only its
// address is compared.
func (a allowedChart) allows(chart ChartSource) bool {
	if !a.source.re.MatchString(chart.Address) {
		return false
	}
	if a.version == nil || chart.IsDependency {
		return true
	}
	version, err := semver.NewVersion(chart.Version)
	return err == nil && a.version.Check(version)
}

func textOf(charts []allowedChart) string {
	list := make(patterns, len(charts))
	for i, chart := range charts {
		list[i] = pattern{text: strings.TrimSpace(chart.text)}
	}
	return list.String()
}
