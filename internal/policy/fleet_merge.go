package policy

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
)

// merged is the result of merging all objects of a namespace, as Fleet does
// (internal/cmd/controller/policyrestrictions and gitops/reconciler/restrictions.go).
type merged struct {
	required, allowsNamespaces bool
	accounts                   []string // of policies.
	gitAccounts                []string // of restrictions.
	gitDefault, helmDefault    string
	// restrictionDefault takes precedence over gitDefault.
	restrictionDefault     string
	repositories           patterns
	chartRepos, chartNames patterns
	targetNamespaces       []string
}

func translate(objects []fleetObject) ([]Policy, error) {
	var m merged
	for _, object := range objects {
		if err := m.add(object); err != nil {
			return nil, fmt.Errorf("%s %s: %w", object.Kind, object.Metadata.Name, err)
		}
	}
	return m.policies(), nil
}

func (m *merged) add(o fleetObject) error {
	m.required = m.required || o.RequireServiceAccount
	m.allowsNamespaces = m.allowsNamespaces || o.AllowNamespaceCreation
	if o.Kind == restrictionKind {
		m.gitAccounts = append(m.gitAccounts, o.AllowedServiceAccounts...)
		m.restrictionDefault = cmp.Or(m.restrictionDefault, o.DefaultServiceAccount)
		m.targetNamespaces = append(m.targetNamespaces, o.AllowedTargetNamespaces...)
		// Fleet does not anchor these patterns.
		return addExpressions(&m.repositories, o.AllowedRepoPatterns, func(text string) string { return `(?s:.*)(?:` + text + `)(?s:.*)` })
	}
	m.accounts = append(m.accounts, o.AllowedServiceAccounts...)
	anchored := func(text string) string { return text }
	if git := o.GitRepo; git != nil {
		m.gitDefault = cmp.Or(m.gitDefault, git.DefaultServiceAccount)
		if err := addExpressions(&m.repositories, git.AllowedRepoPatterns, anchored); err != nil {
			return err
		}
	}
	if op := o.HelmOp; op != nil {
		m.helmDefault = cmp.Or(m.helmDefault, op.DefaultServiceAccount)
		return errors.Join(addExpressions(&m.chartRepos, op.AllowedHelmRepoPatterns, anchored), addExpressions(&m.chartNames, op.AllowedChartPatterns, anchored))
	}
	return nil
}

// addExpressions adds regular expressions. Each also matches its own text literally, as in Fleet.
func addExpressions(to *patterns, texts []string, expression func(string) string) error {
	for _, text := range texts {
		if err := checkLength(text); err != nil {
			return err
		}
		if len(*to) >= maxPatterns {
			return fmt.Errorf("more than %d patterns", maxPatterns)
		}
		// Compile the text alone first: its parentheses must not close the added ones.
		if _, err := regexp.Compile(text); err != nil {
			return fmt.Errorf("pattern %q: %w", text, err)
		}
		made, err := compileExpression(text, `(?:`+expression(text)+`)|`+regexp.QuoteMeta(text))
		if err != nil {
			return err
		}
		*to = append(*to, made)
	}
	return nil
}

// policies returns one policy for each kind of source, because Fleet has defaults and patterns for
// each.
func (m *merged) policies() []Policy {
	var made []Policy
	add := func(name string, from origin, accounts *ServiceAccounts, rules fleetRules) {
		if accounts != nil || !rules.isEmpty() {
			made = append(made, Policy{Name: name, Action: Deny, Scope: Scope{origin: from}, Accounts: accounts, fleet: &rules})
		}
	}
	var required *ServiceAccounts
	if m.required {
		required = &ServiceAccounts{Required: true}
	}
	// As in Fleet 0.16.1 and later: an account of a tenant should not need the right to create
	// namespaces (internal/cmd/controller/target/builder.go, getCreateNamespaceForBundle).
	add(fleetPolicy, anyOrigin, required, fleetRules{refusesNewNamespaces: m.required && !m.allowsNamespaces})
	add(fleetGitPolicy, fromRepository, accountsOf(slices.Concat(m.gitAccounts, m.accounts), cmp.Or(m.restrictionDefault, m.gitDefault)),
		fleetRules{repositories: m.repositories, targetNamespaces: m.targetNamespaces})
	add(fleetHelmOpPolicy, fromChart, accountsOf(m.accounts, m.helmDefault), fleetRules{chartRepos: m.chartRepos, chartNames: m.chartNames})
	add(fleetBundlePolicy, fromElsewhere, accountsOf(m.accounts, ""), fleetRules{})
	return made
}

// accountsOf returns the rule for accounts of one kind of source, nil for none. As in Fleet, an
// empty list allows all accounts, and a default is always allowed.
func accountsOf(allowed []string, preset string) *ServiceAccounts {
	if len(allowed) == 0 && preset == "" {
		return nil
	}
	accounts := &ServiceAccounts{Default: preset}
	if len(allowed) > 0 {
		accounts.Allowed = slices.DeleteFunc(append(slices.Clone(allowed), preset), func(name string) bool { return name == "" })
	}
	return accounts
}

func (f fleetRules) isEmpty() bool {
	return f.repositories == nil && f.chartRepos == nil && f.chartNames == nil && f.targetNamespaces == nil && !f.refusesNewNamespaces
}

// checkFleet checks the rules that only Fleet's objects have. As in Fleet, an empty value is
// allowed, except for the namespace of a source.
func (c *checker) checkFleet(rules *fleetRules) {
	d := c.deployment
	if d.Repository != "" && !rules.repositories.allow(d.Repository) {
		c.add(ruleFleetRepositories, nil, fmt.Sprintf("the repository %s is not allowed (%s)", shown(d.Repository), rules.repositories))
	}
	for _, chart := range d.Charts {
		if chart.IsDependency {
			continue
		}
		if chart.Repo != "" && !rules.chartRepos.allow(chart.Repo) {
			c.add(ruleFleetChartRepos, nil, fmt.Sprintf("the repository of charts %s is not allowed (%s)", shown(chart.Repo), rules.chartRepos))
		}
		if chart.Name != "" && !rules.chartNames.allow(chart.Name) {
			c.add(ruleFleetCharts, nil, fmt.Sprintf("the chart %s is not allowed (%s)", shown(chart.Name), rules.chartNames))
		}
	}
	if rules.targetNamespaces != nil && (!d.IsConfined || !slices.Contains(rules.targetNamespaces, d.Namespace)) {
		c.add(ruleFleetNamespaces, nil, fmt.Sprintf("target_namespace has to be one of %s", listOf(rules.targetNamespaces)))
	}
	if rules.refusesNewNamespaces && d.CreateNamespace {
		c.add(ruleFleetNewNamespace, nil, "the deployment may not create its namespace; set createNamespace to false, or allowNamespaceCreation of a Policy to true")
	}
}
