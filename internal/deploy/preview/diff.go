package preview

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// DiffReport is what a plan changes in rendered objects.
type DiffReport struct {
	Mode  plan.DiffMode
	Diffs []diff.DeploymentDiff
	// NotCompared are the reasons why deployments cannot be compared, with their keys. In DiffAuto
	// the keys are clusters, and the only reasons are failed requests.
	NotCompared status.Grouped
	// TooManyFailed are deployments whose upgrade is refused, see release.TooManyFailedError.
	TooManyFailed []deploy.Key
	// TakenOver are the deployments that take something over from another owner. The objects are
	// those that exist, nil if they were not compared. The value is true for one that changes.
	TakenOver map[deploy.Key]map[string]bool
	// Immutable are objects with immutable fields that change.
	Immutable []ImmutableChange
}

// diffPreview collects a DiffReport.
type diffPreview struct {
	*Preview
	Request
	prior map[deploy.Key]deploy.Record
	// listed are the deployments whose objects the plan shows.
	listed map[deploy.Key]map[string]string

	mu     sync.Mutex
	report DiffReport
	// expected reports that a release could not be read on a cluster that responds.
	expected bool
	// compared caches changes of objects, by the hash of the compared sides.
	compared map[[sha256.Size]byte][]diff.ObjectChange
}

// comparedChange is one deployment that changes; wanted is nil for one that is removed.
type comparedChange struct {
	key       deploy.Key
	wanted    *target.Deployment
	rendering release.Rendering
	// moves are notes about objects of the deployment that move from one bundle to another.
	moves []string
	// usesLookup reports that the templates looked up objects of the release during the rendering.
	usesLookup bool
	// drift compares the release with its live objects, if others have changed them.
	drift release.Compared
}

// Diff compares the changes of a plan with the deployed releases, as their records on the clusters
// show them. Each cluster with a deployment to compare gets one request for the list of its
// releases, and one for those records.
func (p *Preview) Diff(ctx context.Context, of Request, planned *plan.Plan) DiffReport {
	byCluster := map[string][]comparedChange{}
	for i, d := range planned.Write {
		key := deploy.KeyOf(d)
		if !of.Diff.Compares(planned.Prior, key) && (of.Diff == plan.DiffSummary || !of.TakenOver[key]) {
			continue
		}
		byCluster[d.Cluster] = append(byCluster[d.Cluster], comparedChange{
			key: key, wanted: &planned.Write[i], rendering: planned.Renderings[key], moves: moveNotes(key, planned.Moves),
		})
	}
	for _, key := range planned.Remove {
		if of.Diff == plan.DiffRendered {
			byCluster[key.Cluster] = append(byCluster[key.Cluster], comparedChange{key: key, moves: moveNotes(key, planned.Moves)})
		}
	}
	c := &diffPreview{Preview: p, Request: of, prior: planned.Prior, compared: map[[sha256.Size]byte][]diff.ObjectChange{}}
	c.report.Mode = of.Diff
	c.report.TakenOver = make(map[deploy.Key]map[string]bool, len(of.TakenOver))
	for key := range of.TakenOver {
		c.report.TakenOver[key] = nil
	}
	if of.ListsObjects {
		c.listed = planned.Objects
	}
	forEachCluster(p, byCluster, func(cluster string, changes []comparedChange) { c.onCluster(ctx, cluster, changes) },
		func(_ string, changes []comparedChange, err error) {
			for _, change := range changes {
				c.notRead(change, err)
			}
		})
	if of.Diff == plan.DiffAuto && len(c.report.Diffs) == 0 && !c.expected {
		c.report.NotCompared = status.Grouped{} // The refresh has reported these clusters.
	}
	return c.report.sorted()
}

// onCluster compares the deployments of one cluster.
func (p *diffPreview) onCluster(ctx context.Context, name string, changes []comparedChange) {
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	cluster, snapshot, err := p.Snapshot(ctx, name)
	if err != nil && ctx.Err() != nil {
		err = &status.UnreachableError{Cluster: name, Err: err}
	}
	if err != nil {
		for _, change := range changes {
			p.withoutCluster(change, err)
		}
		return
	}
	changes = p.compareTakenOver(ctx, cluster, snapshot, changes)
	read := p.read(ctx, cluster, snapshot, changes)
	drift := p.compareDrift(ctx, cluster, snapshot, changes, read)
	for _, change := range changes {
		observed := p.deployed(snapshot, change)
		if observed == nil && p.isLeftOut(snapshot, change) {
			p.withoutCluster(change, snapshot.CheckComplete())
			continue
		}
		if observed == nil {
			p.withoutRelease(change)
			continue
		}
		change.drift = drift[change.key]
		p.compare(ctx, change, snapshot.UID, *observed, read[release.Key(observed.Namespace, observed.Release)])
	}
}

// read reads the records of the releases that changes start from, by release.Key.
func (p *diffPreview) read(
	ctx context.Context, cluster Cluster, snapshot release.Snapshot, changes []comparedChange,
) map[string]release.Deployed {
	var wanted []release.Claimed
	for _, change := range changes {
		if observed := p.deployed(snapshot, change); observed != nil {
			wanted = append(wanted, release.Claimed{Observed: *observed, By: p.claimantOf(change, snapshot.UID, observed)})
		}
	}
	read := map[string]release.Deployed{}
	if len(wanted) == 0 {
		return read
	}
	for i, found := range cluster.Deployed(ctx, wanted) {
		of := wanted[i].Observed
		read[release.Key(of.Namespace, of.Release)] = found
	}
	return read
}

// deployed returns the release that a change starts from, nil if there is none. For a release that
// moves it is the one under the former name.
func (p *diffPreview) deployed(snapshot release.Snapshot, change comparedChange) *release.Observed {
	for _, at := range p.places(change) {
		if observed := snapshot.Find(at[0], at[1]); release.Exists(observed) {
			return observed
		}
	}
	return nil
}

// isLeftOut reports whether the release that a change starts from is not known.
func (p *diffPreview) isLeftOut(snapshot release.Snapshot, change comparedChange) bool {
	return slices.ContainsFunc(p.places(change), func(at [2]string) bool { return snapshot.LeavesOut(at[0]) })
}

// places returns the namespace and the name of the releases that a change can start from.
func (p *diffPreview) places(change comparedChange) [][2]string {
	var places [][2]string
	if prior, had := p.prior[change.key]; had {
		places = append(places, [2]string{prior.Namespace, prior.Release})
	}
	if change.wanted != nil {
		places = append(places, [2]string{change.wanted.Namespace, change.wanted.Release})
	}
	return places
}

// withoutRelease reports a change whose release is not on its cluster.
func (p *diffPreview) withoutRelease(change comparedChange) {
	switch {
	case p.Request.Diff == plan.DiffAuto: // All of its objects are added.
	case change.wanted == nil:
		p.add(change, diff.Preview{Kind: diff.Removed, Notes: []string{"it no longer exists on the cluster"}}, sides{})
	case change.isNotRendered():
		p.notCompared(change, change.rendering.Irreproducible)
	default:
		p.add(change, diff.Preview{Kind: diff.Added, Notes: change.notes()}, sides{after: change.rendering.Documents})
	}
}

// withoutCluster reports a change on a cluster that could not be read. The state is enough to name
// the removed and the added objects.
func (p *diffPreview) withoutCluster(change comparedChange, err error) {
	prior, had := p.prior[change.key]
	switch {
	case p.Request.Diff == plan.DiffAuto:
		p.notRead(change, err)
	case change.wanted != nil && !had && !change.isNotRendered():
		p.withoutRelease(change)
	case change.wanted == nil && len(prior.NamedObjects()) > 0:
		notes := []string{"as recorded in the state: " + status.ShortCause(err)}
		p.addObjectChanges(change, diff.Preview{Kind: diff.Removed, Notes: notes}, removedObjects(prior.Objects))
	default:
		p.notRead(change, err)
	}
}

func removedObjects(objects map[string]string) []diff.ObjectChange {
	var alterations []diff.ObjectChange
	for _, key := range slices.Sorted(maps.Keys(objects)) {
		alterations = append(alterations, diff.ObjectChange{Key: key, Before: key})
	}
	return alterations
}

// compare compares a change with the record of its release.
func (p *diffPreview) compare(ctx context.Context, change comparedChange, uid string, observed release.Observed, read release.Deployed) {
	switch {
	case read.Err != nil:
		p.expect()
		p.notRead(change, read.Err)
	case change.wanted == nil:
		p.add(change, diff.Preview{Kind: diff.Removed, Notes: p.removalNotes(change, uid, observed)}, sides{before: read.Documents})
	default:
		p.compareUnlessRefused(ctx, change, uid, observed, read)
	}
}

// compareUnlessRefused compares a change with a release that exists.
func (p *diffPreview) compareUnlessRefused(
	ctx context.Context, change comparedChange, uid string, observed release.Observed, read release.Deployed,
) {
	own, takes := p.claimantOf(change, uid, &observed), p.Consent.To(change.key)
	_, err := release.Decide(deploy.FactsOf(*change.wanted, p.prior), own, &observed, takes)
	switch _, tooMany := errors.AsType[*release.TooManyFailedError](err); {
	case tooMany:
		p.mu.Lock()
		defer p.mu.Unlock()
		p.report.TooManyFailed = append(p.report.TooManyFailed, change.key)
	case err != nil:
		p.notCompared(change, "the release has another owner")
	default:
		p.compareContents(ctx, change, uid, observed, read)
	}
}

// compareContents compares the objects of a release that its target may write.
func (p *diffPreview) compareContents(
	ctx context.Context, change comparedChange, uid string, observed release.Observed, read release.Deployed,
) {
	preview := diff.Preview{Kind: diff.Modified}
	own := p.claimantOf(change, uid, &observed)
	addLimitations(&preview, *change.wanted, observed, own, read)
	if !preview.Listed {
		change.rendering, change.usesLookup = p.withLookups(ctx, change, observed, read)
	}
	if change.rendering.HidesContent && !preview.Listed {
		hideContent(&preview, "its templates look up a Secret")
	}
	if change.isNotRendered() {
		p.notCompared(change, change.rendering.Irreproducible)
		return
	}
	p.addImmutable(change, read.Documents)
	preview.Notes = append(change.notes(), preview.Notes...)
	changed := sides{before: read.Documents, after: change.rendering.Documents, texts: textsOf(*change.wanted, observed, own, read)}
	all := p.withDrift(&preview, change, changed)
	p.add(change, preview, all...)
}

// withLookups returns the rendering of a change in which templates find the objects of the
// release. A chart that looks up the password it has generated would generate another one without
// this. If that rendering fails, the planned one is returned. ok reports that templates found the
// objects and that the rendering no longer varies.
func (p *diffPreview) withLookups(
	ctx context.Context, change comparedChange, observed release.Observed, read release.Deployed,
) (rendering release.Rendering, ok bool) {
	planned := change.rendering
	if planned.Irreproducible == "" || planned.DependsOnCluster || change.wanted.LacksContent() {
		return planned, false
	}
	if usesLookup, err := p.Charts.UsesLookup(*change.wanted); err != nil || !usesLookup {
		return planned, false
	}
	rendering, err := p.Charts.Upgrade(ctx, *change.wanted, observed.Revision+1, read.Documents)
	if err != nil {
		return planned, false
	}
	if rendering.Irreproducible != "" {
		rendering.Irreproducible = planned.Irreproducible
	}
	return rendering, rendering.Irreproducible == ""
}

// sides are the objects of a deployment before and after a change.
type sides struct {
	before, after []diff.Document
	texts         diff.HCLSides
}

// textsOf returns the texts of a change that are from a Terraform configuration. For the former
// revision they cannot be taken from state, because a failed apply may have changed the state.
func textsOf(wanted target.Deployment, observed release.Observed, own release.Claimant, read release.Deployed) diff.HCLSides {
	found := diff.HCLSides{Before: diff.HCLText{All: !own.Trusts(observed)}, After: wanted.HCLText()}
	if found.Before.All {
		return found
	}
	for _, revision := range read.Revisions {
		switch revision.Mark.Text {
		case release.TextPublic:
		case release.TextOfValues:
			found.Before.Texts = append(found.Before.Texts, wanted.OtherTexts(revision.Values)...)
		default:
			found.Before = diff.HCLText{All: true}
			return found
		}
	}
	return found
}

// removalNotes returns notes about a removal, such as why a release is not removed.
func (p *diffPreview) removalNotes(change comparedChange, uid string, observed release.Observed) []string {
	own := p.claimantOf(change, uid, &observed)
	action, err := release.DecideRemoval(own, &observed, p.Consent.To(change.key))
	if err != nil {
		return []string{"it is not removed: " + err.Error()}
	}
	if action != release.Uninstall {
		return []string{"it is not removed: " + cmp.Or(observed.Mark.OwnerText(), "another owner") + " has taken it over"}
	}
	if p.prior[change.key].Known.KeepResources {
		return []string{"its objects stay on the cluster (keepResources)"}
	}
	return nil
}

// claimantOf returns the target in relation to the release that a change starts from.
func (p *diffPreview) claimantOf(change comparedChange, uid string, observed *release.Observed) release.Claimant {
	digest := p.prior[change.key].Known.Digest
	if change.wanted != nil {
		digest = change.wanted.Digest
	}
	return p.claimant(p.Identity, change.key, digest, uid, p.prior[change.key], observed)
}

// addLimitations notes what a comparison cannot show, or not in the usual way.
func addLimitations(
	preview *diff.Preview, wanted target.Deployment, observed release.Observed, own release.Claimant, read release.Deployed,
) {
	if observed.Release != wanted.Release || observed.Namespace != wanted.Namespace {
		preview.Listed = true
		preview.Notes = append(preview.Notes, fmt.Sprintf("it moves from release %s in namespace %s to release %s in namespace %s",
			observed.Release, observed.Namespace, wanted.Release, wanted.Namespace))
	}
	if observed.Status != release.StatusDeployed {
		preview.Unlisted = true // The state has the objects of the revision before.
		note := fmt.Sprintf("compared with revision %d (%s)", observed.Revision, observed.Status)
		preview.Notes = append(preview.Notes, note+formerText(len(read.Revisions)-1))
	}
	switch {
	case own.IsForged(observed):
		hideContent(preview, "the release record was changed")
	case !own.Trusts(observed):
		// The other owner may have used values that this provider does not have.
		hideContent(preview, "another owner created the release")
	case !read.OwnValues():
		hideContent(preview, "they were rendered with values from the cluster, write-only values or encrypted files")
	case wanted.Bundle.HasSecrets():
		hideContent(preview, "files of the bundle are encrypted")
	}
}

func hideContent(preview *diff.Preview, because string) {
	preview.Listed = true
	preview.Notes = append(preview.Notes, "the content of its objects is not shown: "+because)
}

// formerText names the failed revisions whose fields and objects can be left, and that a deployment is
// compared with too.
func formerText(revisions int) string {
	switch revisions {
	case 0:
		return ""
	case 1:
		return " and the revision before it"
	}
	return fmt.Sprintf(" and the %d revisions before it", revisions)
}

// notes returns notes on how reliable a rendering is.
func (c comparedChange) notes() []string {
	if c.usesLookup {
		return []string{"templates that look up objects find those of the release here"}
	}
	if c.wanted == nil || c.rendering.Irreproducible == "" {
		return nil
	}
	return []string{"this is one of several possible results: " + c.rendering.Irreproducible}
}

// isNotRendered reports that nothing could be rendered without the cluster. That differs from an
// empty rendering: a chart can render no object at all.
func (c comparedChange) isNotRendered() bool {
	return c.wanted != nil && c.rendering.Documents == nil && c.rendering.Irreproducible != ""
}

// add adds the differences between all sides of a change.
func (p *diffPreview) add(change comparedChange, preview diff.Preview, all ...sides) {
	isAuto := p.Request.Diff == plan.DiffAuto
	if isAuto && preview.Listed {
		return // The objects of the plan show the same.
	}
	var alterations []diff.ObjectChange
	for _, of := range all {
		found, err := p.changesOf(of)
		if err != nil {
			p.notCompared(change, "its objects cannot be read")
			return
		}
		alterations = append(alterations, found...)
	}
	preview.Brief, preview.Unlisted = isAuto, preview.Unlisted || p.listed[change.key] == nil
	p.addObjectChanges(change, preview, alterations)
}

// changesOf compares the objects of a deployment. The objects of many clusters are mostly alike
// and are compared once.
func (p *diffPreview) changesOf(of sides) ([]diff.ObjectChange, error) {
	key := of.key()
	p.mu.Lock()
	known, ok := p.compared[key]
	p.mu.Unlock()
	if ok {
		return known, nil
	}
	compare := diff.Compare
	if p.Request.Diff == plan.DiffAuto {
		compare = func(before, after []diff.Document) ([]diff.ObjectChange, error) {
			return diff.CompareHiding(before, after, of.texts)
		}
	}
	found, err := compare(of.before, of.after)
	if err == nil {
		p.mu.Lock()
		p.compared[key] = found
		p.mu.Unlock()
	}
	return found, err
}

// key returns equal keys for equal sides.
func (s sides) key() (key [sha256.Size]byte) {
	sum := sha256.New()
	for _, documents := range [][]diff.Document{s.before, s.after} {
		fmt.Fprintf(sum, "%d\n", len(documents))
		for _, document := range documents {
			fmt.Fprintf(sum, "%q %t %d\n", document.Key(), document.Hook, len(document.Content))
			_, _ = io.WriteString(sum, document.Content)
		}
	}
	fmt.Fprintf(sum, "%t %q\n%t %q", s.texts.Before.All, s.texts.Before.Texts, s.texts.After.All, s.texts.After.Texts)
	sum.Sum(key[:0])
	return key
}

func (p *diffPreview) addObjectChanges(change comparedChange, preview diff.Preview, alterations []diff.ObjectChange) {
	preview.Cluster = change.key.Cluster
	preview.Bundle = change.key.Bundle
	preview.Objects = alterations
	if preview.IsEmpty() {
		return
	}
	if !preview.Brief { // A plan reports moves anyway.
		preview.Notes = append(preview.Notes, change.moves...)
	}
	diff := preview.Diff()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report.Diffs = append(p.report.Diffs, diff)
}

// expect notes that a diff was expected and is missing.
func (p *diffPreview) expect() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expected = true
}

// notRead reports a request that failed.
func (p *diffPreview) notRead(change comparedChange, err error) {
	concerns := change.key.String()
	if p.Request.Diff == plan.DiffAuto {
		concerns = change.key.Cluster
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report.NotCompared.Add(status.ShortCause(err), concerns)
}

// notCompared reports a reason other than a failed request. Other parts of a plan report that
// reason as well.
func (p *diffPreview) notCompared(change comparedChange, cause string) {
	if p.Request.Diff == plan.DiffAuto {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report.NotCompared.Add(cause, change.key.String())
}

// moveNotes returns notes about objects of a deployment that move from or to another bundle.
func moveNotes(key deploy.Key, moves map[string]release.Moves) []string {
	var remarks []string
	leaving := moves[key.Cluster].Leaving
	for _, object := range slices.Sorted(maps.Keys(leaving[key.Bundle])) {
		remarks = append(remarks, fmt.Sprintf("%s is not deleted: bundle %s adopts it", object, leaving[key.Bundle][object]))
	}
	for _, object := range slices.Sorted(maps.Keys(moves[key.Cluster].Arriving[key.Bundle])) {
		remarks = append(remarks, object+" is not created again: it is adopted from another bundle")
	}
	return remarks
}
