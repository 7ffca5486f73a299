package preview

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/run"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// OwnershipReport lists releases and objects of other owners that conflict with the deployments of
// a plan. It has a line for each release or object, sorted.
type OwnershipReport struct {
	// Taken is taken over with consent, Adopted because of the adoption key. Refused makes its
	// deployment fail. Existing prevents a create. Moved has to be removed first by another
	// target.
	Taken, Adopted, Refused, Existing, Moved []string
	// TakenOver are the deployments that get a release or objects of another owner.
	TakenOver map[deploy.Key]bool
	// RefusedOf are the deployments of Refused, sorted.
	RefusedOf []deploy.Key
	// Agents are the clusters on which an agent of Fleet runs, if releases are taken over from
	// Fleet.
	Agents []string
	// Denied are the clusters that refuse to list their releases, and that no refresh has read.
	// Nothing is known of what exists there.
	Denied []deploy.Failure
}

// ownershipPreview collects an OwnershipReport.
type ownershipPreview struct {
	*Preview
	identity deploy.TargetIdentity
	consent  deploy.Consent
	plan     *plan.Plan

	mu     sync.Mutex
	report OwnershipReport
}

// takeOver notes that a deployment gets a release or objects of another owner.
func (o *ownershipPreview) takeOver(key deploy.Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.report.TakenOver == nil {
		o.report.TakenOver = map[deploy.Key]bool{}
	}
	o.report.TakenOver[key] = true
}

func (o *ownershipPreview) add(to *[]string, format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	*to = append(*to, fmt.Sprintf(format, args...))
}

// refuse notes something that makes a deployment fail.
func (o *ownershipPreview) refuse(key deploy.Key, format string, args ...any) {
	o.add(&o.report.Refused, format, args...)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.report.RefusedOf = append(o.report.RefusedOf, key)
}

// Ownership reports what an apply takes over from others, and what will be refused. Only clusters
// that get a new release or object are read. All targets of the plan share one list of the releases
// of a cluster. Each kind that is to be added takes one more list.
func (p *Preview) Ownership(
	ctx context.Context, identity deploy.TargetIdentity, consent deploy.Consent, planned *plan.Plan,
) OwnershipReport {
	byCluster := map[string][]target.Deployment{}
	for _, d := range planned.Write {
		if planned.Prior[deploy.KeyOf(d)].Known.Engine {
			continue // The agent of that Fleet releases it first.
		}
		if key := deploy.KeyOf(d); len(newObjects(d, planned.Prior[key], planned.Renderings[key])) > 0 && p.readsClusterOf(d) {
			byCluster[d.Cluster] = append(byCluster[d.Cluster], d)
		}
	}
	if len(byCluster) == 0 {
		return OwnershipReport{}
	}
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	found := &ownershipPreview{Preview: p, identity: identity, consent: consent, plan: planned}
	forEachCluster(p, byCluster, func(cluster string, deployments []target.Deployment) { found.onCluster(ctx, cluster, deployments) }, nil)
	for _, lines := range []*[]string{
		&found.report.Taken, &found.report.Adopted, &found.report.Refused, &found.report.Existing, &found.report.Moved, &found.report.Agents,
	} {
		slices.Sort(*lines)
	}
	slices.SortFunc(found.report.RefusedOf, deploy.Key.Compare)
	found.report.RefusedOf = slices.Compact(found.report.RefusedOf)
	slices.SortFunc(found.report.Denied, deploy.Failure.Compare)
	return found.report
}

// newObjects returns the objects that a deployment is to get and did not have, as far as the state
// shows them. With plan_objects = false, the state shows them only for a new release.
func newObjects(d target.Deployment, prior deploy.Record, rendering release.Rendering) []diff.Object {
	if isNew(d, prior) {
		return rendering.Objects
	}
	if prior.NamedObjects() == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(rendering.Objects), func(o diff.Object) bool {
		_, had := prior.Objects[o.Key()]
		return had
	})
}

// denied notes that a cluster refuses to list its releases. The refresh has reported clusters of the
// state.
func (o *ownershipPreview) denied(cluster string, err error) {
	if _, is := errors.AsType[*status.DeniedError](err); !is {
		return
	}
	for key := range o.plan.Prior {
		if key.Cluster == cluster {
			return
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.report.Denied = append(o.report.Denied, deploy.Failure{Cluster: cluster, Doing: "listing the releases", Err: err})
}

// onCluster reads one cluster. A cluster that does not respond is not reported here.
func (o *ownershipPreview) onCluster(ctx context.Context, name string, deployments []target.Deployment) {
	cluster, snapshot, err := o.Snapshot(ctx, name)
	if err != nil {
		o.denied(name, err)
		return
	}
	wanted, byRelease, fromFleet := o.releases(ctx, cluster, snapshot, deployments)
	if o.identity.Instance == "" && !o.consent.All {
		o.existing(name, deployments, snapshot)
	}
	occupied, err := cluster.ExistingObjects(ctx, wanted)
	if err != nil {
		return
	}
	for _, object := range occupied {
		o.object(byRelease[release.Key(object.Wanted.Namespace, object.Wanted.Release)], object)
	}
	if !fromFleet {
		return
	}
	if agent, err := cluster.FleetAgent(ctx); err == nil && agent != "" {
		o.add(&o.report.Agents, "%s: %s", name, agent)
	}
}

// releases notes what happens to the existing releases. It returns the objects that the
// deployments are to get, the deployments by release, and whether a release is taken from Fleet.
func (o *ownershipPreview) releases(
	ctx context.Context, cluster run.RecordReader, snapshot release.Snapshot, deployments []target.Deployment,
) (wanted []release.Wanted, byRelease map[string]target.Deployment, fromFleet bool) {
	byRelease = map[string]target.Deployment{}
	for _, d := range deployments {
		if snapshot.LeavesOut(d.Namespace) {
			continue // The apply reads the release by its name.
		}
		key := deploy.KeyOf(d)
		prior := o.plan.Prior[key]
		observed := snapshot.Find(d.Namespace, d.Release)
		own := o.claimant(o.identity, key, d.Digest, snapshot.UID, prior, observed)
		if release.Exists(observed) {
			isFleets := o.release(ctx, cluster, d, own, *observed)
			fromFleet = fromFleet || isFleets
			if own.Ownership(*observed) != release.Self {
				continue // Its objects are taken over with it.
			}
		}
		former := ""
		if prior.Release != "" {
			former = release.Key(prior.Namespace, prior.Release)
		}
		wanted = append(wanted, release.Wanted{
			Release: d.Release, Namespace: d.Namespace, Former: former, Objects: newObjects(d, prior, o.plan.Renderings[key]),
		})
		byRelease[release.Key(d.Namespace, d.Release)] = d
	}
	return wanted, byRelease, fromFleet
}

// object notes an object that another owner has. It does not report an object that moves from
// another bundle.
func (o *ownershipPreview) object(d target.Deployment, occupied release.ExistingObject) {
	if slices.Contains(o.plan.Moves[d.Cluster].Arriving[d.Bundle.Name][occupied.Object.Key()], occupied.Release) {
		return
	}
	const line = "%s: %s, of %s"
	if o.consent.To(deploy.KeyOf(d)) || (d.Options.Helm != nil && d.Options.Helm.TakeOwnership) {
		o.takeOver(deploy.KeyOf(d))
		o.add(&o.report.Taken, line, d.Key(), occupied.Object.Key(), occupied.Owner)
		return
	}
	o.refuse(deploy.KeyOf(d), line, d.Key(), occupied.Object.Key(), occupied.Owner)
}

// existing notes releases with the owner and the name of a target that is to be created.
func (o *ownershipPreview) existing(cluster string, deployments []target.Deployment, snapshot release.Snapshot) {
	taken := o.consent.Releases(deployments)
	for _, observed := range o.identity.Existing(snapshot) {
		if taken[deploy.ReleaseOn(cluster, observed.Namespace, observed.Release)] {
			continue
		}
		if o.claimant(o.identity, deploy.Key{}, "", snapshot.UID, deploy.Record{}, &observed).Ownership(observed) != release.Self {
			o.add(&o.report.Existing, "%s: release %s in namespace %s", cluster, observed.Release, observed.Namespace)
		}
	}
}

// release notes what happens to an existing release, and reports whether the release is Fleet's.
func (o *ownershipPreview) release(
	ctx context.Context, cluster run.RecordReader, d target.Deployment, own release.Claimant, observed release.Observed,
) (fromFleet bool) {
	key, facts := deploy.KeyOf(d), deploy.FactsOf(d, o.plan.Prior)
	takes := o.consent.To(key)
	action, err := release.Decide(facts, own, &observed, takes)
	identity := observed.Mark.OwnerText()
	switch own.Ownership(observed) {
	case release.Self:
		return false
	case release.SameKey:
		o.takeOver(key)
		o.add(&o.report.Adopted, "%s: release %s in namespace %s, of %s", key, observed.Release, observed.Namespace, identity)
		return false
	case release.OtherTarget:
		if !takes {
			o.add(&o.report.Moved, "%s: release %s in namespace %s, of %s", key, observed.Release, observed.Namespace, identity)
			return false
		}
	case release.SameName:
		if !takes && own.Mark.Instance == "" {
			return false // See existing.
		}
		identity = "another " + identity + ", which is not in this state"
	case release.Unmarked, release.OtherTool:
		creator, failed := cluster.Creator(ctx, observed)
		if failed != nil {
			creator.Name = "an unknown owner"
		}
		identity, fromFleet = creator.Name, creator.Fleet
	case release.OtherOwner:
	}
	const line = "%s: release %s in namespace %s, revision %d, of %s"
	if err != nil {
		o.refuse(key, line, key, observed.Release, observed.Namespace, observed.Revision, identity)
		return fromFleet
	}
	o.takeOver(key)
	o.add(&o.report.Taken, line+", %s", key, observed.Release, observed.Namespace, observed.Revision, identity, outcomeOf(action))
	return fromFleet
}

// outcomeOf describes what an action does to a release.
func outcomeOf(action release.Action) string {
	switch action {
	case release.Upgrade:
		return "gets a new revision"
	case release.Recover:
		return "gets a new revision, after an interrupted operation"
	case release.Keep, release.Adopt:
		return "stays as it is"
	case release.Install, release.Uninstall:
	}
	return action.Doing()
}
