package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"golang.org/x/sync/errgroup"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/helm"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// What diff can be.
const (
	diffSummary  = "summary"
	diffRendered = "rendered"
)

// comparePatience is how long a plan waits for one cluster to tell what it has. A plan
// is right without the answer; it only shows less.
const comparePatience = 10 * time.Second

// renderings are what the deployments of a plan consist of.
type renderings struct {
	of map[deploy.Key]release.Rendering
	// whole says that documents are needed. Those of many clusters are mostly alike,
	// and each is kept once.
	whole bool
	same  map[string]string
}

func newRenderings(whole bool) renderings {
	return renderings{of: map[deploy.Key]release.Rendering{}, whole: whole, same: map[string]string{}}
}

func (r renderings) keep(key deploy.Key, rendering release.Rendering) {
	if !r.whole {
		rendering.Documents = nil
	}
	for i, document := range rendering.Documents {
		known, ok := r.same[document.Content]
		if !ok {
			known = document.Content
			r.same[known] = known
		}
		rendering.Documents[i].Content = known
	}
	r.of[key] = rendering
}

func (m *targetModel) showsDiff() bool { return m.Diff.ValueString() == diffRendered }

// comparison collects what a plan changes of rendered objects.
type comparison struct {
	fleet  *fleet
	holder deploy.Holder
	prior  map[deploy.Key]deploy.Record
	// take says that releases of others are taken over.
	take bool

	mu    sync.Mutex
	diffs []release.Diff
	// blind are the deployments that cannot be compared, by why.
	blind byText
}

// planned is one deployment that changes; wanted is nil for one that goes.
type planned struct {
	key       deploy.Key
	wanted    *target.Deployment
	rendering release.Rendering
}

// showDiff compares what changes with what is deployed, as the records of the clusters
// tell. Each cluster that something changes on is asked once for the list of its
// releases, which it may have told already, and for those records.
func (r *targetResource) showDiff(ctx context.Context, plan, before *targetModel, compared change, made renderings, diags *diag.Diagnostics) {
	if !plan.showsDiff() || diags.HasError() {
		return
	}
	c := &comparison{fleet: r.fleet, holder: plan.holder(r.fleet), prior: before.records(), take: plan.TakeOwnership.ValueBool()}
	byCluster := map[string][]planned{}
	for i, d := range compared.write {
		byCluster[d.Cluster] = append(byCluster[d.Cluster], planned{key: keyOf(d), wanted: &compared.write[i], rendering: made.of[keyOf(d)]})
	}
	for _, key := range compared.remove {
		byCluster[key.Cluster] = append(byCluster[key.Cluster], planned{key: key})
	}
	var looking errgroup.Group
	looking.SetLimit(max(1, r.fleet.parallelism))
	for cluster, changes := range byCluster {
		looking.Go(func() error {
			c.compareOn(ctx, cluster, changes)
			return nil
		})
	}
	_ = looking.Wait() // Nobody fails: what cannot be compared is said.
	c.warn(plan.Name.ValueString(), diags)
}

// isApplied says whether a change of this target is planned because it is about to be
// applied: then there was no refresh in this process, and what changes was shown before.
// Nor was there with -refresh=false, which asks to look at no cluster.
func (r *targetResource) isApplied(before *targetModel) bool {
	_, refreshed := r.fleet.instances.Load(before.ID.ValueString())
	return before.ID.ValueString() != "" && !refreshed
}

// compareOn compares the deployments of one cluster.
func (c *comparison) compareOn(ctx context.Context, cluster string, changes []planned) {
	ctx, cancel := context.WithTimeout(ctx, comparePatience)
	defer cancel()
	client, snapshot, err := c.fleet.glance(ctx, cluster)
	if err != nil && ctx.Err() != nil {
		err = &status.UnreachableError{Cluster: cluster, Err: err}
	}
	if err != nil {
		for _, change := range changes {
			c.withoutCluster(change, err)
		}
		return
	}
	var wanted []release.Observed
	for _, change := range changes {
		if observed := c.deployed(snapshot, change); observed != nil {
			wanted = append(wanted, *observed)
		}
	}
	read := map[string]helm.Deployed{}
	if len(wanted) > 0 {
		found, err := client.deployed(ctx, wanted)
		for i, observed := range wanted {
			if err != nil {
				found = append(found, helm.Deployed{Err: err})
			}
			read[release.Key(observed.Namespace, observed.Release)] = found[i]
		}
	}
	for _, change := range changes {
		observed := c.deployed(snapshot, change)
		if observed == nil {
			c.withoutRelease(change)
			continue
		}
		c.compare(change, *observed, read[release.Key(observed.Namespace, observed.Release)])
	}
}

// deployed is the release that a change begins with, nil if there is none: under its
// former name for one that moves.
func (c *comparison) deployed(snapshot release.Snapshot, change planned) *release.Observed {
	places := [][2]string{}
	if prior, had := c.prior[change.key]; had {
		places = append(places, [2]string{prior.Namespace, prior.Release})
	}
	if change.wanted != nil {
		places = append(places, [2]string{change.wanted.Namespace, change.wanted.Release})
	}
	for _, at := range places {
		if observed := snapshot.Find(at[0], at[1]); observed != nil && observed.Status != release.StatusUninstalled {
			return observed
		}
	}
	return nil
}

// withoutRelease is for what is not on its cluster.
func (c *comparison) withoutRelease(change planned) {
	switch {
	case change.wanted == nil:
		c.add(change, release.Preview{Fate: release.Goes, Remarks: []string{"the cluster does not have it any more"}}, nil, nil)
	case change.isUntold():
		c.cannot(change, change.rendering.Irreproducible)
	default:
		c.add(change, release.Preview{Fate: release.Comes, Remarks: change.remarks()}, nil, change.rendering.Documents)
	}
}

// withoutCluster is for a cluster that does not tell what it has: what the state knows
// is enough to name what goes and what comes.
func (c *comparison) withoutCluster(change planned, err error) {
	prior, had := c.prior[change.key]
	unknown := blindness(err)
	switch {
	case change.wanted != nil && !had && !change.isUntold():
		c.withoutRelease(change)
	case change.wanted == nil && len(prior.Objects) > 0:
		c.addAlterations(change, release.Preview{Fate: release.Goes, Remarks: []string{"as the state knows it: " + unknown}}, namesOf(prior.Objects))
	default:
		c.cannot(change, unknown)
	}
}

// blindness says in one line why a cluster, or a record of it, cannot be looked at. More
// about one that does not answer stands in the warning of the refresh.
func blindness(err error) string {
	if _, notYet := errors.AsType[*unknownConnectionError](err); notYet {
		return "the connection of the cluster is not known yet"
	}
	if _, silent := errors.AsType[*status.UnreachableError](err); silent {
		return "the cluster does not answer"
	}
	return strings.Join(strings.Fields(causeText(err)), " ")
}

func namesOf(objects map[string]string) []release.Alteration {
	var alterations []release.Alteration
	for _, key := range slices.Sorted(maps.Keys(objects)) {
		alterations = append(alterations, release.Alteration{Key: key, Before: key})
	}
	return alterations
}

// compare sets what is wanted against what a record holds.
func (c *comparison) compare(change planned, observed release.Observed, read helm.Deployed) {
	switch {
	case read.Err != nil:
		c.cannot(change, blindness(read.Err))
	case change.wanted == nil:
		c.add(change, release.Preview{Fate: release.Goes, Remarks: c.parting(change, observed)}, read.Documents, nil)
	case change.isUntold():
		c.cannot(change, change.rendering.Irreproducible)
	case c.isRefused(change, observed):
		c.cannot(change, "the release belongs to somebody else")
	default:
		preview := release.Preview{Fate: release.Changes, Remarks: change.remarks()}
		reservations(&preview, *change.wanted, observed)
		c.add(change, preview, read.Documents, change.rendering.Documents)
	}
}

// parting says what becomes of a release that goes beside its removal.
func (c *comparison) parting(change planned, observed release.Observed) []string {
	known := c.prior[change.key].Known
	own := c.holder.Mark(change.key.Bundle, known.Digest, known)
	if _, err := release.DecideRemoval(own, &observed, c.take); err != nil {
		return []string{"it is not removed: " + err.Error()}
	}
	if own.Ownership(observed) != release.Self {
		return []string{"it is not removed: " + cmp.Or(observed.Mark.Holder(), "somebody else") + " has taken it over"}
	}
	if known.Terms.KeepResources {
		return []string{"its objects stay on the cluster (keepResources)"}
	}
	return nil
}

// isRefused says whether an apply will not touch a release.
func (c *comparison) isRefused(change planned, observed release.Observed) bool {
	own := c.holder.Mark(change.key.Bundle, change.wanted.Digest, c.prior[change.key].Known)
	_, err := release.Decide(own, &observed, c.take)
	return err != nil
}

// reservations says what a comparison cannot show, or not in the usual way.
func reservations(preview *release.Preview, wanted target.Deployment, observed release.Observed) {
	if observed.Release != wanted.Release || observed.Namespace != wanted.Namespace {
		preview.Listed = true
		preview.Remarks = append(preview.Remarks, fmt.Sprintf("it moves from release %s in namespace %s to release %s in namespace %s",
			observed.Release, observed.Namespace, wanted.Release, wanted.Namespace))
	}
	if observed.Status != release.StatusDeployed {
		preview.Remarks = append(preview.Remarks, fmt.Sprintf("compared with revision %d, which is %s", observed.Revision, observed.Status))
	}
	switch {
	case observed.Mark.Owner == "" || !observed.Current():
		// What made it may have had values that nobody here knows.
		preview.Listed = true
		preview.Remarks = append(preview.Remarks, "what stands in its objects is not shown: somebody else has made the release")
	case !observed.Mark.Terms.OwnValues:
		preview.Listed = true
		preview.Remarks = append(preview.Remarks, "what stands in its objects is not shown: they were made with values from the cluster, write-only values or encrypted files")
	case wanted.Bundle.HasSecrets():
		preview.Listed = true
		preview.Remarks = append(preview.Remarks, "what stands in its objects is not shown: files of the bundle are encrypted")
	}
}

// remarks say how far a rendering can be relied on.
func (p planned) remarks() []string {
	if p.wanted == nil || p.rendering.Irreproducible == "" {
		return nil
	}
	return []string{"this is one of several possible results: " + p.rendering.Irreproducible}
}

// isUntold says that nothing could be rendered without the cluster. That is not the
// same as nothing: a chart can render no object at all.
func (p planned) isUntold() bool {
	return p.wanted != nil && p.rendering.Documents == nil && p.rendering.Irreproducible != ""
}

func (c *comparison) add(change planned, preview release.Preview, before, after []release.Document) {
	alterations, err := release.Compare(before, after)
	if err != nil {
		c.cannot(change, "its objects cannot be read")
		return
	}
	c.addAlterations(change, preview, alterations)
}

func (c *comparison) addAlterations(change planned, preview release.Preview, alterations []release.Alteration) {
	preview.Cluster, preview.Bundle, preview.Alterations = change.key.Cluster, change.key.Bundle, alterations
	diff := preview.Diff()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.diffs = append(c.diffs, diff)
}

func (c *comparison) cannot(change planned, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.blind.add(why, change.key.String())
}

// warn makes one diagnostic of all.
func (c *comparison) warn(name string, diags *diag.Diagnostics) {
	var parts []string
	if len(c.diffs) > 0 {
		parts = append(parts, release.DiffText(c.diffs))
	}
	slices.Sort(c.blind.texts)
	for _, why := range c.blind.texts {
		slices.Sort(c.blind.of[why])
		parts = append(parts, "Not compared: "+strings.Join(c.blind.of[why], ", ")+": "+why+".")
	}
	if len(parts) > 0 {
		diags.AddWarning("Target "+name+": what changes in rendered objects", strings.Join(parts, "\n\n"))
	}
}
