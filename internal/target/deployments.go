package target

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// Input is everything that decides about deployments. Deployments changes nothing in it.
type Input struct {
	Bundles []*bundle.Bundle
	// Rules select the clusters that get the bundles. Bundles with overrideTargets override them.
	Rules    []Rule
	Clusters []Cluster
	Groups   []Group
	// Evaluator runs templates that do more than read a field of the cluster. It gets one
	// request for each bundle that needs it.
	Evaluator Evaluator
	// CRDs is the value of helm.crds for all bundles that do not set it.
	CRDs string
	// Defaults returns the options with the defaults of policies: the service account, and whether
	// the namespace is created. It changes no other option, and is nil if there are no policies.
	Defaults func(cluster string, b *bundle.Bundle, options fleetyaml.Options) fleetyaml.Options
}

// Result is the result of Deployments. Equal deployments share their options; the options must not
// be changed.
type Result struct {
	// Deployments are sorted by key.
	Deployments []Deployment
	// Failures are deployments that cannot be made, sorted by key.
	Failures []Failure
	// Unmatched are the indices of rules that match no cluster.
	Unmatched []int
}

// Failure is a deployment that cannot be made.
type Failure struct {
	Cluster, Bundle string
	// Err does not name the cluster, so that the same cause has the same text on many clusters.
	Err error
}

// Deployments decides which clusters get which bundles, and with which options.
// A failure on one cluster does not affect other clusters.
//
// Errors: those of Match, bundles that cannot be matched at all, and the error of ctx if
// it ends while templates run.
func Deployments(ctx context.Context, in Input) (Result, error) {
	clusters, err := candidates(in.Clusters, in.Groups)
	if err != nil {
		return Result{}, err
	}
	rules, err := compileRules(in.Rules, clusters, in.Groups)
	if err != nil {
		return Result{}, err
	}
	var result Result
	ruled, unmatched := apply(rules, clusters)
	result.Unmatched = unmatched

	names := make(map[string]bool, len(in.Bundles))
	for _, b := range in.Bundles {
		if names[b.Name] {
			return Result{}, fmt.Errorf("two bundles are called %q", b.Name)
		}
		names[b.Name] = true
		plan, err := newPlan(b)
		if err != nil {
			return Result{}, fmt.Errorf("bundle %s: %w", b.Name, err)
		}
		plan.crds, plan.defaults = in.CRDs, in.Defaults
		if err := plan.addTo(ctx, &result, in.Evaluator, clusters, ruled); err != nil {
			return Result{}, fmt.Errorf("bundle %s: %w", b.Name, err)
		}
	}
	result.refuseClashes()
	result.sort()
	return result, nil
}

// inFile returns the error with the file that its templates are in. Clusters share errors, so
// inFile sets the file in a copy.
func inFile(file string, err error) error {
	templating, ok := err.(*TemplateError) //nolint:errorlint // Only the error itself has the field File.
	if !ok {
		return err
	}
	named := *templating
	named.File = file
	return &named
}

// apply reports for each cluster whether a rule matches it, and returns the rules that match none.
func apply(rules []criteria, clusters []*candidate) (ruled []bool, unmatched []int) {
	ruled = make([]bool, len(clusters))
	for i, rule := range rules {
		matches := false
		for j, cluster := range clusters {
			if rule.match(cluster) {
				matches, ruled[j] = true, true
			}
		}
		if !matches {
			unmatched = append(unmatched, i)
		}
	}
	return ruled, unmatched
}

// refuseClashes turns deployments that would overwrite each other into failures.
func (r *Result) refuseClashes() {
	type identity struct{ cluster, namespace, release string }
	claims := make(map[identity][]string, len(r.Deployments))
	identityOf := func(d Deployment) identity { return identity{d.Cluster, d.Namespace, d.Release} }
	for _, d := range r.Deployments {
		claims[identityOf(d)] = append(claims[identityOf(d)], d.Bundle.Name)
	}
	r.Deployments = slices.DeleteFunc(r.Deployments, func(d Deployment) bool {
		bundles := claims[identityOf(d)]
		if len(bundles) == 1 {
			return false
		}
		r.Failures = append(r.Failures, Failure{
			Cluster: d.Cluster, Bundle: d.Bundle.Name,
			Err: fmt.Errorf("bundles %s all use release %s in namespace %s; set another %s or namespace for each",
				strings.Join(slices.Sorted(slices.Values(bundles)), ", "), d.Release, d.Namespace, d.Bundle.Spelling().Name("helm.releaseName")),
		})
		return true
	})
}

func (r *Result) sort() {
	slices.SortFunc(r.Deployments, func(a, b Deployment) int { return strings.Compare(a.Key(), b.Key()) })
	slices.SortFunc(r.Failures, func(a, b Failure) int {
		return strings.Compare(Key(a.Cluster, a.Bundle), Key(b.Cluster, b.Bundle))
	})
}

// plan is what is computed of one bundle for all clusters.
type plan struct {
	bundle         *bundle.Bundle
	customizations []*fleetyaml.Customization
	criteria       []criteria // Of customizations, by index.
	overrides      []criteria // Of OverrideTargets, by index.
	partitions     []criteria // Of the rollout strategy, by index.
	batch          *batch
	// crds is the value of helm.crds if the bundle does not set it.
	crds string
	// defaults is Input.Defaults.
	defaults func(cluster string, b *bundle.Bundle, options fleetyaml.Options) fleetyaml.Options
	// variants are the merged options, by the customizations that matched.
	variants map[string]*variant
}

// variant are the options of all clusters that match the same customizations.
type variant struct {
	options            fleetyaml.Options
	templating         *templating
	release, namespace string
	// content covers the files of the bundle that the options use.
	content string
	// digest is the digest of a deployment whose options are not templated.
	digest string
	err    error
}

func newPlan(b *bundle.Bundle) (*plan, error) {
	p := &plan{bundle: b, batch: newBatch(), customizations: b.Definition.Customizations(), variants: make(map[string]*variant)}
	for i, customization := range p.customizations {
		compiled, err := compile(customization.Criteria)
		if err != nil {
			return nil, fmt.Errorf("target customization %d: %w", i+1, err)
		}
		p.criteria = append(p.criteria, compiled)
	}
	for i, override := range b.Definition.OverrideTargets {
		compiled, err := compile(override.Criteria)
		if err != nil {
			return nil, fmt.Errorf("override target %d: %w", i+1, err)
		}
		p.overrides = append(p.overrides, compiled)
	}
	if b.Definition.RolloutStrategy == nil {
		return p, nil
	}
	for i, partition := range b.Definition.RolloutStrategy.Partitions {
		compiled, err := compile(partition.Criteria)
		if err != nil {
			return nil, fmt.Errorf("partition %d of the rollout strategy: %w", i+1, err)
		}
		p.partitions = append(p.partitions, compiled)
	}
	return p, nil
}

// decide reports whether the cluster gets the bundle, and returns the customizations that apply
// there. ruled reports whether a rule matches the cluster
// (Fleet's internal/cmd/controller/target/matcher/bundlematch.go).
func (p *plan) decide(c *candidate, ruled bool) (matched []int, in bool) {
	switch {
	case p.bundle.Definition.OverrideTargets == nil:
		in = ruled
	case len(p.overrides) > 0:
		first := slices.IndexFunc(p.overrides, func(m criteria) bool { return m.match(c) })
		in = first >= 0 && !p.bundle.Definition.OverrideTargets[first].DoNotDeploy
	default:
		return p.decideAlone(c)
	}
	if !in {
		return nil, false
	}
	for i, criteria := range p.criteria {
		if !criteria.match(c) {
			continue
		}
		if p.customizations[i].DoNotDeploy {
			return nil, false
		}
		matched = append(matched, i)
		if p.bundle.Definition.TargetCustomizationMode != fleetyaml.AllMatches {
			break
		}
	}
	return matched, true
}

// decideAlone is for a bundle whose overrideTargets are empty. Its customizations select the
// clusters. Without customizations, the bundle is deployed to the group "default".
func (p *plan) decideAlone(c *candidate) (matched []int, in bool) {
	if len(p.criteria) == 0 {
		return nil, criteria{group: "default"}.match(c)
	}
	first := slices.IndexFunc(p.criteria, func(m criteria) bool { return m.match(c) })
	if first < 0 || p.customizations[first].DoNotDeploy {
		return nil, false
	}
	return []int{first}, true
}

// addTo adds the deployments of the bundle, and those that cannot be made, to result. It returns an
// error only if ctx has ended.
func (p *plan) addTo(ctx context.Context, result *Result, evaluator Evaluator, clusters []*candidate, ruled []bool) error {
	var drafts []*draft
	for i, cluster := range clusters {
		if matched, in := p.decide(cluster, ruled[i]); in {
			drafts = append(drafts, p.draft(cluster, matched))
		}
	}
	results, evaluation := p.batch.request.run(ctx, evaluator)
	if evaluation != nil && ctx.Err() != nil {
		return fmt.Errorf("running templates: %w", ctx.Err())
	}
	for _, d := range drafts {
		deployment, err := d.finish(results, evaluation)
		if err == nil {
			deployment, err = p.withDefaults(deployment, d.content)
		}
		if err != nil {
			err = inFile(p.bundle.DefinitionFile, err)
			result.Failures = append(result.Failures, Failure{Cluster: d.deployment.Cluster, Bundle: p.bundle.Name, Err: err})
			continue
		}
		result.Deployments = append(result.Deployments, deployment)
	}
	return nil
}

// draft is a deployment before its templates have run.
type draft struct {
	deployment Deployment
	content    string
	// job is nil if there is nothing to template.
	job *job
	err error
}

func (p *plan) draft(c *candidate, matched []int) *draft {
	v := p.variant(matched)
	d := &draft{content: v.content, err: v.err, deployment: Deployment{
		Cluster: c.Name, Release: v.release, Namespace: v.namespace, Options: v.options, Digest: v.digest,
		Bundle: p.bundle, Paused: c.Paused || p.bundle.Definition.Paused, Partitions: matching(p.partitions, c),
		Capabilities: c.Capabilities,
	}}
	// A cluster without labels is not templated (Fleet's
	// internal/cmd/controller/target/builder.go).
	if v.err != nil || v.templating == nil || len(c.visible) == 0 {
		return d
	}
	d.deployment.Public = c.publicContext()
	d.job, d.err = v.templating.prepare(c, p.batch)
	return d
}

// finish completes the deployment with the results of all runs, or the error of the evaluator.
func (d *draft) finish(results []Evaluated, evaluation error) (Deployment, error) {
	if d.err != nil || d.job == nil {
		return d.deployment, d.err
	}
	made, err := d.job.finish(results, evaluation)
	if err != nil {
		return Deployment{}, err
	}
	deployment := d.deployment
	deployment.Options = made.in(deployment.Options)
	deployment.Digest, err = digest(deployment, d.content)
	return deployment, err
}

// withDefaults sets the defaults of policies, which the digest covers.
func (p *plan) withDefaults(d Deployment, content string) (Deployment, error) {
	if p.defaults == nil {
		return d, nil
	}
	options := p.defaults(d.Cluster, d.Bundle, d.Options)
	if options.ServiceAccount == d.Options.ServiceAccount && options.CreateNamespace == d.Options.CreateNamespace {
		return d, nil
	}
	d.Options = options
	var err error
	d.Digest, err = digest(d, content)
	return d, err
}

func (p *plan) variant(matched []int) *variant {
	key := fmt.Sprint(matched)
	if p.variants[key] == nil {
		p.variants[key] = p.newVariant(matched)
	}
	return p.variants[key]
}

func (p *plan) newVariant(matched []int) *variant {
	customizations := make([]*fleetyaml.Customization, len(matched))
	for i, index := range matched {
		customizations[i] = p.customizations[index]
	}
	v := &variant{options: p.withCRDs(customize(p.bundle.Definition.Options, customizations))}
	v.release, v.namespace = releaseOf(p.bundle, v.options)
	if !isReleaseName(v.release) {
		v.err = &ReleaseNameError{Name: v.release}
		return v
	}
	v.templating = newTemplating(v.options)
	v.content = p.bundle.ContentOf(v.options.Helm)
	v.digest, v.err = digest(Deployment{Options: v.options, Release: v.release, Namespace: v.namespace}, v.content)
	return v
}

// releaseOf returns the identity of the release (Fleet's internal/helmdeployer/deployer.go).
func releaseOf(b *bundle.Bundle, o fleetyaml.Options) (release, namespace string) {
	namespace = cmp.Or(o.Namespace, o.DefaultNamespace, "default")
	if o.Helm != nil && o.Helm.ReleaseName != "" {
		return o.Helm.ReleaseName, namespace
	}
	return bundle.ReleaseName(b.Name), namespace
}

// maxReleaseName is Helm's limit for the name of a release.
const maxReleaseName = 53

// maxServiceAccountName is the longest name that fits into a label of the release record.
const maxServiceAccountName = 63

// CheckNames checks the names of a deployment's namespace and service account, and the labels of the
// namespace. Fleet finds such errors only on the cluster.
func (d Deployment) CheckNames() error {
	if len(validation.IsDNS1123Label(d.Namespace)) > 0 {
		return fmt.Errorf("the namespace %q is not a valid name in Kubernetes: use up to %d lower-case letters, digits and dashes, "+
			"with a letter or digit at both ends. Templates (${ ... }) have no effect in it, as in Fleet; use "+
			"target_customizations", d.Namespace, validation.DNS1123LabelMaxLength)
	}
	account := d.Options.ServiceAccount
	if account != "" && (len(account) > maxServiceAccountName || len(validation.IsDNS1123Subdomain(account)) > 0) {
		return fmt.Errorf("%s %q is not a valid name of a service account: it must be a DNS name of at most %d characters",
			d.Bundle.Spelling().Name("serviceAccount"), account, maxServiceAccountName)
	}
	return d.checkNamespaceLabels()
}

func isReleaseName(name string) bool {
	return len(name) <= maxReleaseName && len(validation.IsDNS1123Subdomain(name)) == 0
}

// digest covers what is deployed. It does not cover the cluster, nor how live objects are compared:
// another comparison deploys nothing. 32 characters of the digest fit into a Kubernetes label
// value.
func digest(d Deployment, content string) (string, error) {
	deployed := d.Options
	deployed.Diff = nil
	deployed.Ignore = nil
	deployed.CorrectDrift = nil
	options, err := json.Marshal(deployed) // Keys of maps are sorted.
	if err != nil {
		return "", fmt.Errorf("computing the digest of the options: %w", err)
	}
	return bundle.DigestOf([]byte("deployment "+bundle.DigestVersion), []byte(content), options, []byte(d.Release), []byte(d.Namespace)), nil
}
