package provider

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// ModifyPlan shows what an apply will do. It is called at plan and again at
// apply, perhaps on another machine, and must answer alike: it reads
// configuration, prior state and content pinned by digest, and no cluster.
func (r *targetResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		// A note about a replacement that was not carried out must not hold back a
		// removal.
		resp.Diagnostics.Append(clearCreateLeg(ctx, resp.Private)...)
		var gone targetModel
		resp.Diagnostics.Append(req.State.Get(ctx, &gone)...)
		gone.guardDestroy(&resp.Diagnostics)
		if r.fleet != nil {
			r.showDiff(ctx, &gone, &gone, change{remove: slices.Collect(maps.Keys(gone.records()))}, newRenderings(false), &resp.Diagnostics)
			r.fleet.claims.drop(gone.Name.ValueString(), gone.ID.ValueString())
			warnOrphans(gone.Name.ValueString(), readOrphans(ctx, req.Private, &resp.Diagnostics), nil, &resp.Diagnostics)
		}
		return
	}
	if r.fleet == nil {
		return
	}
	var plan, prior targetModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	creating := req.State.Raw.IsNull()
	if !creating {
		resp.Diagnostics.Append(req.State.Get(ctx, &prior)...)
		prior.looks = readLooks(ctx, req.Private, &resp.Diagnostics)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	leg := createLeg{Planned: creating, Target: plan.Name.ValueString()}
	known := versions{} // What Create gets beside the state, too.
	if !creating {
		known = readVersions(ctx, req.Private, &resp.Diagnostics)
		r.fleet.recall(ctx, req.Private, &resp.Diagnostics)
	}
	wanted, reason := r.wanted(ctx, req.Config, &plan, known, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	if reason != "" {
		resp.Diagnostics.AddWarning("Target "+plan.Name.ValueString()+": deployments are known only after the apply",
			"Not known yet: "+reason+".\n\nWhat is known while planning shows in the plan: give it values that do not depend on resources that are still to be made.")
		leg.Unknown = true
		plan.setUnknown()
		r.fleet.rota.plan(plan.Name.ValueString(), nil)
		r.fleet.claims.drop(plan.Name.ValueString(), prior.ID.ValueString())
	} else {
		leg.Wanted = releasesOf(wanted)
		if !creating {
			readAbilities(ctx, req.Private, &resp.Diagnostics).pin(wanted)
			if !prior.Name.Equal(plan.Name) {
				r.fleet.claims.drop(prior.Name.ValueString(), prior.ID.ValueString())
			}
			r.fleet.rememberUIDs(readClusters(ctx, req.Private, &resp.Diagnostics))
			warnOrphans(plan.Name.ValueString(), readOrphans(ctx, req.Private, &resp.Diagnostics), wanted, &resp.Diagnostics)
		}
		r.fleet.claim(plan.Name.ValueString(), prior.ID.ValueString(), req.Config, wanted, &resp.Diagnostics)
		r.planChange(ctx, &plan, &prior, creating, wanted, &resp.Diagnostics)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	if creating {
		resp.Diagnostics.Append(leg.write(ctx, resp.Private)...)
	}
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
}

func (m *targetModel) setUnknown() {
	m.Deployments = types.MapUnknown(deploymentType())
	m.Objects = types.MapUnknown(objectsType())
	m.Records = types.MapUnknown(types.StringType)
	m.Summary = types.StringUnknown()
	m.Stages = types.StringUnknown()
	m.setCountsUnknown()
}

// releasesOf are the releases of deployments, by key.
func releasesOf(wanted []target.Deployment) map[string]string {
	releases := make(map[string]string, len(wanted))
	for _, d := range wanted {
		releases[d.Key()] = release.Key(d.Namespace, d.Release)
	}
	return releases
}

// wanted is what the configuration asks for, given the known versions of objects
// that values come from. reason says why that cannot be told yet, "" if it can.
func (r *targetResource) wanted(ctx context.Context, config tfsdk.Config, m *targetModel, known versions, diags *diag.Diagnostics) (wanted []target.Deployment, reason string) {
	if m.Name.IsUnknown() || isUnknownInside(ctx, m.Targets) {
		return nil, "the target's name or rules"
	}
	if r.fleet.clustersUnknown {
		return nil, "the provider's clusters"
	}
	if r.fleet.groupsUnknown {
		return nil, "the provider's cluster_groups"
	}
	clusters, unknown := r.fleet.facts()
	if len(unknown) > 0 {
		return nil, "labels or other facts of cluster " + strings.Join(unknown, ", ")
	}
	bundles, reason := r.fleet.readBundles(ctx, "Target "+m.Name.ValueString(), m.Bundles, diags)
	if reason != "" || diags.HasError() {
		return nil, reason
	}
	writeOnly, reason := m.readWriteOnly(ctx, config, bundles, diags)
	if reason != "" || diags.HasError() {
		return nil, reason
	}
	result, err := target.Deployments(ctx, target.Input{
		Bundles: bundles, Rules: rulesOf(ctx, m.Targets, diags), Clusters: clusters, Groups: r.fleet.groups, Evaluator: r.fleet.sandbox,
	})
	if err != nil {
		addTargetError(diags, m.Name.ValueString(), err)
		return nil, ""
	}
	for _, index := range result.Unmatched {
		diags.AddAttributeWarning(path.Root("targets").AtListIndex(index),
			fmt.Sprintf("Target %s: rule %d matches no cluster", m.Name.ValueString(), index+1),
			"The provider's clusters are: "+strings.Join(slices.Sorted(maps.Keys(r.fleet.clusters)), ", ")+".")
	}
	var failures []deploy.Failure
	for _, failure := range result.Failures {
		failures = append(failures, deploy.Failure{Cluster: failure.Cluster, Bundle: failure.Bundle, Err: failure.Err})
	}
	for _, d := range result.Deployments {
		if err := errors.Join(d.CheckNames(), kube.CheckRules(release.RulesOf(d.Options))); err != nil {
			failures = append(failures, deploy.Failure{Cluster: d.Cluster, Bundle: d.Bundle.Name, Err: err})
		}
	}
	addPlanFailures(diags, m.Name.ValueString(), failures)
	for i, d := range result.Deployments {
		result.Deployments[i] = d.WithWriteOnly(writeOnly[d.Bundle.Name])
	}
	known.pin(result.Deployments)
	return result.Deployments, ""
}

// addTargetError reports what is wrong with rules, at the rule.
func addTargetError(diags *diag.Diagnostics, name string, err error) {
	at := path.Root("targets")
	if rule, ok := errors.AsType[*target.RuleError](err); ok {
		at = at.AtListIndex(rule.Index)
	}
	diags.AddAttributeError(at, "Target "+name+": cannot tell its clusters", sentence(err)+"\n\nNothing was changed on any cluster.")
}

// addPlanFailures reports deployments that cannot be made, one diagnostic for
// each cause.
func addPlanFailures(diags *diag.Diagnostics, name string, failures []deploy.Failure) {
	for _, cause := range groupByCause(failures) {
		planned := keys(cause.failures)
		diags.AddError("Target "+name+": cannot plan "+summaryOf(planned),
			"Deployments: "+listOf(planned)+"\n\n"+sentence(errors.New(cause.text))+"\n\nNothing was changed on any cluster. Correct the bundle and plan again.")
	}
}

// change is the way from what was to what is wanted.
type change struct {
	write  []target.Deployment
	remove []deploy.Key
	keep   map[deploy.Key]bool
	added  int

	// beside are the wanted deployments that are not written, and held those of them
	// that are not as wanted. faults are those that can never be written.
	beside       []release.Step
	held, faults []deploy.Failure
	// stages is the order in words, needs what bundles depend on, and outside what
	// deployments to be written depend on beyond this target.
	stages  string
	needs   map[string][]string
	outside map[deploy.Key][]release.Outside
}

func (c change) counts() status.Changes {
	return status.Changes{Added: c.added, Changed: len(c.write) - c.added, Removed: len(c.remove), Kept: len(c.keep), Held: len(c.held)}
}

// remarks says whether every release has to be looked at again, although
// nothing is deployed: the target has another name or adoption key, which stand on its
// records, or its objects are to be shown and were not before.
func (m *targetModel) remarks(before *targetModel) bool {
	return !m.Name.Equal(before.Name) || !m.AdoptionKey.Equal(before.AdoptionKey) || (before.Objects.IsNull() && (m.PlanObjects.ValueBool() || m.PlanObjects.IsUnknown()))
}

// mayRemark says whether it is not known yet if every release has to be looked at again.
func (m *targetModel) mayRemark(before *targetModel) bool {
	if before.ID.IsNull() || !m.Name.Equal(before.Name) {
		return false
	}
	if m.AdoptionKey.IsUnknown() {
		return true
	}
	return m.AdoptionKey.Equal(before.AdoptionKey) && before.Objects.IsNull() && m.PlanObjects.IsUnknown()
}

// compare keeps a deployment whose digest is as wanted and whose last operation
// came to an end, unless all have to be marked again. What the order of deployments
// holds stays as it is, and is not begun.
func compare(wanted []target.Deployment, prior map[deploy.Key]deploy.Record, remark bool) change {
	compared := change{keep: map[deploy.Key]bool{}, outside: map[deploy.Key][]release.Outside{}}
	steps := make([]release.Step, len(wanted))
	there := map[deploy.Key]bool{}
	for i, d := range wanted {
		key := keyOf(d)
		there[key] = true
		record, had := prior[key]
		asWanted := had && !remark && isAsWanted(d, record)
		steps[i] = release.Step{Deployment: d, State: string(record.State), Change: !asWanted}
	}
	order := release.NewOrder(steps)
	outlook := release.Foresee(order)
	compared.stages, compared.needs = outlook.Text, order.Needs()
	for i, step := range steps {
		key := keyOf(step.Deployment)
		_, had := prior[key]
		failure := deploy.Failure{Cluster: key.Cluster, Bundle: key.Bundle, Doing: "deploying", Err: outlook.Held[i]}
		step.Held = outlook.Held[i]
		switch {
		case order.Faults()[i] != nil:
			failure.Err = order.Faults()[i]
			compared.faults = append(compared.faults, failure)
		case step.Held != nil:
			compared.held = append(compared.held, failure)
		case step.Change:
			compared.write = append(compared.write, step.Deployment)
			compared.outside[key] = order.Outside(i)
			if !had {
				compared.added++
			}
			continue
		}
		compared.beside = append(compared.beside, step)
		if had {
			compared.keep[key] = true
		}
	}
	for key := range prior {
		if !there[key] {
			compared.remove = append(compared.remove, key)
		}
	}
	return compared
}

func keyOf(d target.Deployment) deploy.Key {
	return deploy.Key{Cluster: d.Cluster, Bundle: d.Bundle.Name}
}

// isAsWanted says whether nothing has to be done for a deployment. Objects that are
// not as they were deployed are put right, unless the bundle only wants to be told.
func isAsWanted(d target.Deployment, record deploy.Record) bool {
	settled := record.State.Settled() || record.State == status.Modified
	return settled && !d.Unpinned && len(record.Left) == 0 && record.Digest == d.Digest && record.Release == d.Release && record.Namespace == d.Namespace && !record.Corrects(d)
}

// planChange fills in the computed attributes of a plan whose wanted deployments
// are known.
func (r *targetResource) planChange(ctx context.Context, plan *targetModel, before *targetModel, creating bool, wanted []target.Deployment, diags *diag.Diagnostics) {
	name := plan.Name.ValueString()
	prior := before.records()
	compared := compare(wanted, prior, plan.remarks(before))
	counts := compared.counts()
	compared.remove = r.forgetMissing(name, compared.remove, diags)
	plan.guardRemovals(counts.Removed, len(prior), len(wanted), diags)
	r.fleet.rota.plan(name, compared.brings())
	warnHeld(name, compared.held, diags)
	addPlanFailures(diags, name, compared.faults)
	if len(compared.write) > 0 {
		r.fleet.sandbox.Start() // It is ready when the connections are read.
	}
	r.checkConnections(compared, diags)
	if diags.HasError() {
		return
	}
	deployments := map[string]attr.Value{}
	objects := map[string]attr.Value{}
	known := map[string]attr.Value{}
	for key := range compared.keep {
		record := prior[key]
		addKnown(known, key, record)
		deployments[key.String()] = deploymentValue(record, types.StringValue(string(record.State)), types.StringValue(record.Message))
		objects[key.String()] = hashesValue(record.Objects)
	}
	for key, lost := range before.wantedLost(wanted) {
		known[key.String()] = knownValue(lost)
	}
	defer r.fleet.glanceAhead(ctx, compared.write, prior)()
	unpinned := r.fleet.unpinAfterKinds(compared)
	var failures []deploy.Failure
	moody := map[string][]string{}
	made := newRenderings(plan.showsDiff())
	for _, d := range compared.write {
		rendering, err := r.fleet.charts.Render(ctx, d)
		if err != nil {
			failures = append(failures, deploy.Failure{Cluster: d.Cluster, Bundle: d.Bundle.Name, Err: err})
			continue
		}
		made.keep(keyOf(d), rendering)
		deployments[d.Key()] = plannedValue(d, rendering)
		known[d.Key()] = types.StringUnknown()
		objects[d.Key()] = types.MapUnknown(types.StringType)
		promised := r.fleet.promise(d, prior[keyOf(d)], rendering)
		if promised == nil && rendering.Irreproducible != "" {
			cause := openBecause(rendering.Irreproducible, rendering.AsksCluster, unpinned[keyOf(d)])
			moody[cause] = append(moody[cause], d.Key())
		}
		if promised != nil {
			objects[d.Key()] = hashesValue(promised)
		}
	}
	addPlanFailures(diags, name, failures)
	if !diags.HasError() {
		r.checkOutside(ctx, name, wanted, compared, diags)
	}
	r.warnOwnership(ctx, plan, prior, compared.write, made.of, diags)
	if !r.isApplied(before) {
		r.showDiff(ctx, plan, before, compared, made, diags)
	}
	if plan.PlanObjects.ValueBool() {
		warnIrreproducible(name, moody, diags)
	}
	plan.Deployments = types.MapValueMust(deploymentType(), deployments)
	plan.Objects = types.MapNull(objectsType())
	switch {
	case plan.PlanObjects.IsUnknown():
		plan.Objects = types.MapUnknown(objectsType())
	case plan.PlanObjects.ValueBool():
		plan.Objects = types.MapValueMust(objectsType(), objects)
	}
	plan.Summary, plan.Stages, plan.Records = before.Summary, before.Stages, before.Records
	plan.keepCounts(before)
	if creating || counts.Any() {
		plan.Summary, plan.Stages = types.StringValue(counts.String()), types.StringValue(compared.inWords())
		plan.setCountsUnknown()
		plan.keepFailed(prior, compared)
		plan.Records = types.MapValueMust(types.StringType, known)
		if creating { // The one that a replacement goes on from can have more.
			plan.Records = types.MapUnknown(types.StringType)
		}
	}
	if !creating && counts.Any() {
		plan.keepClusterCounts(before, compared)
	}
	if plan.mayRemark(before) {
		plan.Summary, plan.Stages = types.StringUnknown(), types.StringUnknown()
		plan.Records = types.MapUnknown(types.StringType)
	}
}

// warnIrreproducible says why the objects of deployments cannot be told before the
// apply. It is one warning: of several with one summary Terraform shows the first alone.
func warnIrreproducible(name string, causes map[string][]string, diags *diag.Diagnostics) {
	if len(causes) == 0 {
		return
	}
	var lines strings.Builder
	for _, cause := range slices.Sorted(maps.Keys(causes)) {
		fmt.Fprintf(&lines, "  - %s: %s\n", strings.Join(causes[cause], ", "), cause)
	}
	diags.AddWarning("Target "+name+": objects are known only after the apply",
		"What these charts give is decided only then:\n"+lines.String()+
			"\nHashes of their objects are unknown until then; what is deployed is decided by the digest, so nothing changes without a change of the bundle.")
}

// checkConnections reads the connections that the change needs. It dials
// nothing; a context that does not exist shows here and not after half of the
// clusters were changed.
func (r *targetResource) checkConnections(compared change, diags *diag.Diagnostics) {
	needed := map[string]bool{}
	for _, d := range compared.write {
		needed[d.Cluster] = true
	}
	for _, key := range compared.remove {
		needed[key.Cluster] = true
	}
	for _, name := range slices.Sorted(maps.Keys(needed)) {
		_, err := r.fleet.connect(name)
		var unknown *unknownConnectionError
		if err == nil || errors.As(err, &unknown) {
			continue
		}
		diags.AddError("Cannot connect to cluster "+name, sentence(err)+
			"\n\nNothing was changed on any cluster. Correct the entry "+name+" in the provider's clusters.")
	}
}
