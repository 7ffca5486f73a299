package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Deployment is what policies read of a deployment before it is rendered.
type Deployment struct {
	Cluster, Bundle string
	Labels          map[string]string
	// Repository is the URL of the git repository of the bundle, "" if the bundle is from no
	// repository.
	Repository string
	// Charts are the charts that are not in the bundle.
	Charts          []ChartSource
	Namespace       string
	ServiceAccount  string
	CreateNamespace bool
	// IsConfined is true if the deployment fails unless all its objects are in Namespace.
	IsConfined bool
}

// ChartSource is a chart that is not in the bundle.
type ChartSource struct {
	// Address is the URL with the name of the chart. Repo and Name are as in the configuration.
	Address, Repo, Name string
	// Version is exact, "" if it is not known.
	Version string
	// IsDependency is true if a chart in the bundle depends on this chart.
	IsDependency bool
}

// Violation is one item that a policy does not allow.
type Violation struct {
	Policy string
	Action Action
	// Rule is the name of the attribute.
	Rule            string
	Cluster, Bundle string
	// Object is "" if the deployment itself is refused. File and Line are its place, if that is
	// known.
	Object string
	File   string
	Line   int
	// Text describes what is wrong, without the cluster.
	Text string

	kind, name string // Of the object.
}

// Compare orders violations by policy, rule, cluster, bundle and object.
func (v Violation) Compare(other Violation) int {
	return cmp.Or(cmp.Compare(v.Policy, other.Policy), cmp.Compare(v.Rule, other.Rule), cmp.Compare(v.Cluster, other.Cluster),
		cmp.Compare(v.Bundle, other.Bundle), cmp.Compare(v.Object, other.Object))
}

// The names of rules.
const (
	ruleRepositories    = "repositories"
	ruleCharts          = "charts"
	ruleNamespaces      = "namespaces"
	ruleServiceAccounts = "service_accounts"
	ruleAllowedKinds    = "allowed_kinds"
	ruleDeniedKinds     = "denied_kinds"
	ruleClusterScoped   = "cluster_scoped"
	ruleImageRegistries = "image_registries"
	ruleLabels          = "labels"
	ruleAnnotations     = "annotations"
	ruleMaxObjects      = "max_objects"
	ruleMaxReplicas     = "max_replicas"

	ruleFleetRepositories = "allowedRepoPatterns"
	ruleFleetChartRepos   = "allowedHelmRepoPatterns"
	ruleFleetCharts       = "allowedChartPatterns"
	ruleFleetNamespaces   = "allowedTargetNamespaces"
	ruleFleetNewNamespace = "allowNamespaceCreation"
)

// Set is all policies of a configuration.
type Set struct{ policies []compiled }

// New compiles policies for the clusters of the configuration. They are checked in the order of
// their names.
func New(policies []Policy, clusters []target.Cluster, groups []target.Group) (*Set, error) {
	if len(policies) > maxPolicies {
		return nil, fmt.Errorf("more than %d policies", maxPolicies)
	}
	sorted := slices.SortedFunc(slices.Values(policies), func(a, b Policy) int { return cmp.Compare(a.Name, b.Name) })
	set := &Set{}
	for _, policy := range sorted {
		made, err := policy.compile(clusters, groups)
		if err != nil {
			return nil, fmt.Errorf("policy %s: %w", policy.Name, err)
		}
		set.policies = append(set.policies, made)
	}
	return set, nil
}

// ServiceAccount returns the account for deployments that have none, "" for none. It is the default
// of the first policy that has one.
func (s *Set) ServiceAccount(d Deployment) string {
	for i := range s.policies {
		if p := &s.policies[i]; p.Accounts != nil && p.Accounts.Default != "" && p.matches(d) {
			return p.Accounts.Default
		}
	}
	return ""
}

// RefusesNewNamespaces reports whether a deployment may not create its namespace.
func (s *Set) RefusesNewNamespaces(d Deployment) bool {
	return slices.ContainsFunc(s.policies, func(p compiled) bool { return p.fleet != nil && p.fleet.refusesNewNamespaces && p.matches(d) })
}

// Content is what is known of the objects of a deployment.
type Content struct {
	Documents []diff.Document
	// Varying are the keys of objects whose content is not known.
	Varying map[string]bool
}

// Check returns what policies do not allow of a deployment and its objects, in the order of the
// policies, rules and objects.
func (s *Set) Check(d Deployment, content Content) []Violation {
	return s.check(d, content, (*checker).checkDeployment)
}

// CheckObjects is Check for the objects alone, without the rules about the deployment itself.
func (s *Set) CheckObjects(d Deployment, content Content) []Violation {
	return s.check(d, content, func(*checker) {})
}

func (s *Set) check(d Deployment, content Content, first func(*checker)) []Violation {
	var (
		found   []Violation
		objects []object
	)
	for i := range s.policies {
		p := &s.policies[i]
		if !p.matches(d) {
			continue
		}
		check := checker{policy: p, deployment: d}
		first(&check)
		if p.readsObjects() {
			if objects == nil {
				objects = read(content)
			}
			check.checkObjects(objects)
		}
		found = append(found, check.found...)
	}
	return found
}

// NeedsObjects reports whether a policy for a deployment has rules about its objects.
func (s *Set) NeedsObjects(d Deployment) bool {
	return slices.ContainsFunc(s.policies, func(p compiled) bool { return p.readsObjects() && p.matches(d) })
}

func (c *compiled) readsObjects() bool {
	return c.namespaces != nil || c.allowed != nil || c.denied != nil || c.refusesClusterScoped() || c.registries != nil ||
		c.objectLabels != nil || c.annotations != nil || c.MaxObjects != nil || c.MaxReplicas != nil
}

func (c *compiled) refusesClusterScoped() bool { return c.ClusterScoped != nil && !*c.ClusterScoped }

// maxViolations limits the violations of one policy in one deployment.
const maxViolations = 1000

// checker checks one deployment against one policy.
type checker struct {
	policy     *compiled
	deployment Deployment
	found      []Violation
}

func (c *checker) add(rule string, of *object, text string) {
	if len(c.found) >= maxViolations {
		return
	}
	violation := Violation{Policy: c.policy.Name, Action: c.policy.Action, Rule: rule, Cluster: c.deployment.Cluster, Bundle: c.deployment.Bundle, Text: text}
	if of != nil {
		violation.Object = of.Key()
		violation.File = of.File
		violation.kind = of.Kind
		violation.name = of.Name
	}
	c.found = append(c.found, violation)
}

func (c *checker) checkDeployment() {
	p, d := c.policy, c.deployment
	if d.Repository != "" && !p.repositories.allow(d.Repository) {
		c.add(ruleRepositories, nil, fmt.Sprintf("the repository %s is not allowed (%s)", shown(d.Repository), p.repositories))
	}
	c.checkCharts()
	if !p.namespaces.allow(d.Namespace) {
		c.add(ruleNamespaces, nil, fmt.Sprintf("the namespace %s of the release is not allowed (%s)", shown(d.Namespace), p.namespaces))
	}
	switch {
	case d.ServiceAccount == "" && p.Accounts != nil && p.Accounts.Required:
		c.add(ruleServiceAccounts, nil, "the deployment has no service account, and one is required")
	case d.ServiceAccount != "" && !p.accounts.allow(d.ServiceAccount):
		c.add(ruleServiceAccounts, nil, fmt.Sprintf("the service account %s is not allowed (%s)", shown(d.ServiceAccount), p.accounts))
	}
	if p.fleet != nil {
		c.checkFleet(p.fleet)
	}
}

func (c *checker) checkCharts() {
	if c.policy.charts == nil {
		return
	}
	for _, chart := range c.deployment.Charts {
		if !slices.ContainsFunc(c.policy.charts, func(allowed allowedChart) bool { return allowed.allows(chart) }) {
			c.add(ruleCharts, nil, fmt.Sprintf("the chart %s is not allowed (%s)", strings.TrimSpace(shown(chart.Address+" "+chart.Version)), textOf(c.policy.charts)))
		}
	}
}

func (c *checker) checkObjects(objects []object) {
	p := c.policy
	if p.MaxObjects != nil && int64(len(objects)) > *p.MaxObjects {
		c.add(ruleMaxObjects, nil, fmt.Sprintf("it has %d objects, and at most %d are allowed", len(objects), *p.MaxObjects))
	}
	for i := range objects {
		c.checkIdentity(&objects[i])
		if objects[i].isRead {
			c.checkContent(&objects[i])
		}
	}
}

// checkIdentity checks what is known of an object even if its content can vary.
func (c *checker) checkIdentity(o *object) {
	p, names := c.policy, o.kinds()
	if p.allowed != nil && !p.allowed.match(names...) {
		c.add(ruleAllowedKinds, o, fmt.Sprintf("the kind is not allowed (%s)", p.allowed))
	}
	if p.denied.match(names...) {
		c.add(ruleDeniedKinds, o, "the kind is denied")
	}
	if p.refusesClusterScoped() && o.isClusterScoped() {
		c.add(ruleClusterScoped, o, "objects without a namespace are not allowed")
	}
	if namespace := o.inNamespace(); namespace != "" && !p.namespaces.allow(namespace) {
		c.add(ruleNamespaces, o, fmt.Sprintf("the namespace %s is not allowed (%s)", shown(namespace), p.namespaces))
	}
}

func (c *checker) checkContent(o *object) {
	p := c.policy
	if p.registries != nil {
		for _, image := range o.images {
			c.checkImage(o, image)
		}
	}
	for _, required := range p.objectLabels {
		c.checkRequired(ruleLabels, "label", o, o.labels, required)
	}
	for _, required := range p.annotations {
		c.checkRequired(ruleAnnotations, "annotation", o, o.annotations, required)
	}
	if p.MaxReplicas != nil && o.replicas > *p.MaxReplicas {
		c.add(ruleMaxReplicas, o, fmt.Sprintf("%d replicas are more than %d", o.replicas, *p.MaxReplicas))
	}
}

func (c *checker) checkImage(o *object, image string) {
	registry, repository, err := parseImage(image)
	switch {
	case err != nil:
		c.add(ruleImageRegistries, o, fmt.Sprintf("%q is not an image reference", shown(image)))
	case !c.policy.registries.match(registry, registry+"/"+repository):
		c.add(ruleImageRegistries, o, fmt.Sprintf("the image %s of %s/%s is not allowed (%s)", shown(image), registry, repository, c.policy.registries))
	}
}

func (c *checker) checkRequired(rule, what string, o *object, values map[string]string, required requirement) {
	value, there := values[required.key]
	switch {
	case !there:
		c.add(rule, o, fmt.Sprintf("the %s %s is missing", what, required.key))
	case !required.value.re.MatchString(value):
		c.add(rule, o, fmt.Sprintf("the %s %s does not match %s", what, required.key, required.value.text))
	}
}

// shown limits the length of a text from a repository and makes it printable.
func shown(text string) string {
	const longest = 200
	if runes := []rune(text); len(runes) > longest {
		text = string(runes[:longest]) + "..."
	}
	return mask.Printable(text)
}
