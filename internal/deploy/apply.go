package deploy

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/policy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/rollout"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Key names one deployment.
type Key struct {
	Cluster string
	Bundle  string
}

func (k Key) String() string { return target.Key(k.Cluster, k.Bundle) }

// Compare sorts by cluster, then by bundle.
func (k Key) Compare(other Key) int {
	return cmp.Or(cmp.Compare(k.Cluster, other.Cluster), cmp.Compare(k.Bundle, other.Bundle))
}

// Request is what one apply has to do. Deployments that are neither in Write nor in Remove are not
// touched.
type Request struct {
	TargetIdentity
	// Create reports that the target is not in a state yet. Then releases with its owner and name
	// are not its own, and nothing is written while any of them exist.
	Create bool
	// Write are the deployments to install, upgrade or adopt. One that is unpinned
	// is pinned to the versions of the objects that its values come from.
	Write []target.Deployment
	// Blocked are deployments in Write and Remove that must not be written or removed, each with
	// the reason. They fail, and so do removals of what they depend on.
	Blocked map[Key]error
	// Planned are the objects that the plan promised for deployments in Write, where it promised
	// any. An existing release that has other objects is written again.
	Planned map[Key]map[string]string
	// Ready are deployments in Write that the plan shows as ready after the apply. One that is
	// not is a failure.
	Ready map[Key]bool
	// Wants are the objects of deployments in Write, as far as they are known before the apply.
	// They determine which objects move from one bundle to another, see Change.
	Wants map[Key]map[string]string
	// Unchanged are the other wanted deployments, which are as wanted or held. They are not
	// written, but other deployments can depend on them and share a rollout with them.
	Unchanged []rollout.Step
	// Order is the order that the plan shows. It is reported, and decides nothing.
	Order []Stage
	// Remove are the deployments to uninstall, and Needs the bundles that each bundle
	// depends on, which are removed after it.
	Remove []Key
	Needs  map[string][]string
	// Counts are those of the change. They are shown, and decide nothing.
	Counts status.Changes
	// Prior are the records of deployments from before the request. Lost are deployments that a
	// refresh did not find any more.
	Prior map[Key]Record
	Lost  map[Key]release.Known
	// Keep are deployments in Prior that stay as they are. UIDs are the identities that the
	// clusters had when the change was planned, as far as they are known. Nothing is written to a
	// cluster with another UID. Two names can refer to one cluster. What one name keeps is not
	// removed under the other name.
	Keep     []Key
	UIDs     map[string]string
	Settings Settings
	// Policies check what is written, nil if there are none.
	Policies Policies
	// Keys returns the keys of all targets of this process, nil for none. A removal leaves what one
	// of them has taken over.
	Keys func() []string
}

// Settings apply to all deployments of a request.
type Settings struct {
	// Wait reports that a write waits until objects are ready. It waits for Timeout unless the
	// bundle sets another time, see TimeoutOf.
	Wait    bool
	Timeout time.Duration
	// ReadyFor is how long a container without a readiness probe has to run.
	ReadyFor time.Duration
	// ExplainLogs adds the end of the logs of failed containers to errors.
	ExplainLogs bool
	// Limit is how long the whole apply may take.
	Limit      time.Duration
	MaxHistory int
	Consent    Consent
	Drift      Drift
	// Description returns the text that describes a revision in the history of its release.
	Description func(target.Deployment) string
}

// Outcome is the result of an apply, whether it failed or not.
type Outcome struct {
	// Records contains every deployment of the request that is, or may be, on its cluster. A
	// deployment that was found to no longer exist is missing.
	Records  map[Key]Record
	Failures []Failure
	// Versions contains, by cluster, the versions of objects that values come from, where the
	// request did not have them.
	Versions map[string]Versions
	// Notices list what removals left behind on purpose, sorted by key.
	Notices []Notice
	// Warned are violations that only warn and that the plan could not find.
	Warned []policy.Violation
	// Interruption is nil unless the apply was interrupted before its end.
	Interruption *Interruption
	// Existing are releases because of which a create was not begun, sorted by cluster, namespace
	// and name. If there are any, nothing was written.
	Existing []Existing
	// Overlapping are the names of clusters of which several are one cluster and are to have one
	// release there. If there are any, nothing was written.
	Overlapping [][]string
}

// Existing is a release with the owner and the name of a target that is to be created.
type Existing struct {
	Cluster  string
	Observed release.Observed
}

// Versions maps objects that values come from to the version of each.
type Versions = map[target.Reference]string

// Apply carries out a request on all clusters in parallel, except where the order of its
// deployments demands a wait. A failure affects one deployment and those that come after it in the
// order; the others continue. When ctx ends, nothing new is started, and running operations are
// finished.
func (e *Engine) Apply(ctx context.Context, request Request) Outcome {
	results := &results{prior: request.Prior, records: map[Key]Record{}}
	progress := newApplyProgress(ctx, e.notify, request, results)
	runs := e.clusterRuns(request, results, progress)
	var looking, removing sync.WaitGroup
	for _, v := range runs {
		looking.Go(panics.RecoveringTo(v.snapshotPanicked, "reading the cluster", func() { v.takeSnapshot(ctx) }))
	}
	if request.Create || request.writesToNewCluster() {
		looking.Wait()
		if overlapping := request.overlappingClusters(runs); len(overlapping) > 0 {
			return Outcome{Overlapping: overlapping}
		}
	}
	if request.Create && !request.Settings.Consent.All {
		if existing := request.existingOn(runs); len(existing) > 0 {
			return Outcome{Existing: existing}
		}
	}
	progress.start()
	for _, v := range runs {
		removing.Go(func() {
			<-v.snapshotTaken
			v.writes.Wait()
			// After a panic, removals count as not begun; a refresh finds the releases that no
			// longer exist.
			notRemoved := func(err error) { results.addAllUntouched(v.remove, "removing", err) }
			panics.RecoveringTo(notRemoved, "removing", func() {
				v.settleMoves()
				v.removeAll(ctx)
			})()
			// The records of written deployments stay as the write left them.
			notInspected := func(err error) { results.addFailed(Key{Cluster: v.name}, "reading the objects", err, nil) }
			panics.RecoveringTo(notInspected, "reading the objects", func() { v.inspect(ctx) })()
		})
	}
	schedule(ctx, request, runs, progress)
	removing.Wait()
	progress.finish()
	outcome := results.outcome()
	if ctx.Err() != nil {
		outcome.Interruption = progress.interruption()
	}
	slices.SortFunc(outcome.Failures, compareFailures)
	outcome.Warned = sortedViolations(outcome.Warned)
	slices.SortFunc(outcome.Notices, func(a, b Notice) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Bundle, b.Bundle))
	})
	return outcome
}

// identity returns what distinguishes one cluster from another: its UID, or its name when the UID
// is not known.
func (r Request) identity(cluster string, snapshots map[string]clusterSnapshot) string {
	return cmp.Or(snapshots[cluster].snapshot.UID, r.UIDs[cluster], cluster)
}

// claims returns the releases that each cluster is to have, by the identity of the cluster and by
// release.Key. None of them is removed, even if another deployment had it before: a bundle or a
// cluster can get another name while the release keeps its own.
func (r Request) claims(snapshots map[string]clusterSnapshot) map[string]map[string]bool {
	claims := map[string]map[string]bool{}
	claim := func(cluster, namespace, name string) {
		identity := r.identity(cluster, snapshots)
		if claims[identity] == nil {
			claims[identity] = map[string]bool{}
		}
		claims[identity][release.Key(namespace, name)] = true
	}
	for _, d := range r.Write {
		claim(d.Cluster, d.Namespace, d.Release)
	}
	for _, key := range r.Keep {
		claim(key.Cluster, r.Prior[key].Namespace, r.Prior[key].Release)
	}
	return claims
}

// steps returns all wanted deployments, those to be written first.
func (r Request) steps() []rollout.Step {
	steps := make([]rollout.Step, 0, len(r.Write)+len(r.Unchanged))
	for _, d := range r.Write {
		steps = append(steps, rollout.Step{Deployment: d, State: string(r.Prior[KeyOf(d)].State), Change: true})
	}
	return append(steps, r.Unchanged...)
}

func (s Settings) write(d target.Deployment, by release.Claimant) release.Write {
	takes := s.Consent.To(KeyOf(d))
	return release.Write{
		Mark:          by.Mark,
		Proof:         by.Proof,
		Known:         by.Known,
		Wait:          s.Wait,
		Timeout:       s.TimeoutOf(d),
		ReadyFor:      s.ReadyFor,
		ExplainLogs:   s.ExplainLogs,
		MaxHistory:    s.MaxHistory,
		TakeOwnership: takes,
		TakeRelease:   takes,
		Description:   s.Description(d),
	}
}

// recordOfWrite returns the record of a deployment that was written with a proof.
func recordOfWrite(d target.Deployment, written release.Written, proof release.Proof) Record {
	record := Record{
		Release:   written.Observed.Release,
		Namespace: written.Observed.Namespace,
		Chart:     written.Rendering.Chart,
		Version:   written.Rendering.Version,
		Digest:    d.Digest,
		Objects:   written.Rendering.Hashes(),
		Rules:     release.RulesOf(d.Options),
		Known:     knownOf(d, written, proof),

		HidesNames: written.Rendering.HidesNames, BundleLabels: d.Bundle.Labels(),
	}
	if record.HidesNames {
		record.Objects = numbered(record.Objects, d.Digest)
	}
	record.Counts.Ready = len(record.Objects)
	var facts status.Facts
	if written.NotReady != nil {
		record.Counts = record.Counts.WithoutReading(max(1, unreadyCount(written.NotReady)))
		facts.NotReady = written.NotReady.Error()
	}
	return record.With(facts)
}

// numbered returns as many objects, with numbers in place of their keys, and a hash of the deployment
// in place of their content.
func numbered(objects map[string]string, digest string) map[string]string {
	hash, made := release.ShortHash([]byte(digest)), make(map[string]string, len(objects))
	for i := range len(objects) {
		made[strconv.Itoa(i+1)] = hash
	}
	return made
}

// knownOf returns what a removal of a written release needs.
func knownOf(d target.Deployment, written release.Written, proof release.Proof) release.Known {
	return release.Known{
		Release: d.Release, Namespace: d.Namespace, UID: proof.UID, Instance: written.Observed.Mark.Instance, Digest: d.Digest,
		Key: proof.Key, Revision: max(written.Revision, written.Observed.Revision), TargetNamespace: d.Options.Namespace, UninstallPolicy: release.UninstallPolicyOf(d),
	}
}

// KeyOf returns the key of a deployment.
func KeyOf(d target.Deployment) Key { return Key{Cluster: d.Cluster, Bundle: d.Bundle.Name} }

func compareFailures(a, b Failure) int {
	return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Bundle, b.Bundle))
}
