package fleet

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/run"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Apply writes the Bundles of a request, and returns when the agents have applied them. A failure
// concerns one deployment, or the deployments of one bundle; Apply finishes the others. When ctx
// ends, Apply writes nothing more. Fleet still deploys the Bundles that were written before.
func (e *Engine) Apply(ctx context.Context, request run.Request) deploy.Outcome {
	r := e.newRun(request)
	existing, err := r.prepare(ctx)
	switch {
	case err != nil:
		r.untouchedAll(r.write, "deploying", err)
		r.untouchedAll(r.remove, deploy.Removing, err)
		return r.outcome(ctx)
	case len(existing) > 0:
		return deploy.Outcome{Existing: existing}
	}
	r.refuseTaken(ctx)
	stop := r.follow(ctx)
	defer stop()
	r.writeAll(ctx)
	removal{r}.all(ctx)
	return r.outcome(ctx)
}

// applyRun is one apply.
type applyRun struct {
	engine  *Engine
	request run.Request
	store   *store
	view    view
	tracker *tracker
	slots   *semaphore.Weighted

	*results
}

func (e *Engine) newRun(request run.Request) *applyRun {
	return &applyRun{
		engine: e, request: request, slots: semaphore.NewWeighted(int64(e.settings.Parallelism)), results: newResults(request),
	}
}

// follow watches the BundleDeployments until stop is called. stop returns when the watch has ended.
func (r *applyRun) follow(ctx context.Context) (stop func()) {
	following, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var watching sync.WaitGroup
	watching.Go(panics.RecoveringTo(func(error) {}, "watching BundleDeployments", func() { r.tracker.follow(following) }))
	return func() {
		cancel()
		watching.Wait()
	}
}

// prepare reads the existing objects of the target. If it returns existing deployments, a create
// must not begin.
func (r *applyRun) prepare(ctx context.Context) (existing []deploy.Existing, err error) {
	defer panics.Recover("reading the management cluster", &err)
	c, err := r.engine.management()
	if err != nil {
		return nil, err
	}
	instances := instancesOf(r.request.TargetIdentity, r.request.Prior)
	if r.request.Create {
		others, err := r.others(ctx, c, instances)
		if err != nil {
			return nil, err
		}
		if foreign := r.withoutConsent(others); len(foreign) > 0 {
			return existingOf(foreign), nil
		}
		for _, other := range others {
			instances[other.Labels[labelInstance]] = true
		}
	}
	r.view, err = r.engine.look(ctx, c, r.request.Owner, instances)
	if err != nil {
		return nil, err
	}
	r.store = &store{engine: r.engine, client: c, instances: instances}
	r.tracker = r.engine.newTracker(c, selector(r.request.Owner, instances), r.view)
	return nil, nil
}

// withoutConsent returns the Bundles that a create must not take over. With take_ownership it takes over
// all of them. With an adoption key it takes over those with the key, if it wants all of their
// deployments: the others would stay in a Bundle and in no state.
func (r *applyRun) withoutConsent(others []metadata) []metadata {
	if r.request.Settings.Consent.All {
		return nil
	}
	wanted := map[deploymentID]bool{}
	for _, d := range r.request.Write {
		wanted[deploymentID{release.NewMark("", "", "", d.Bundle.Name, "").Bundle, d.Cluster}] = true
	}
	return slices.DeleteFunc(slices.Clone(others), func(of metadata) bool {
		if r.request.AdoptionKey == "" || of.Labels[labelAdoption] != r.request.AdoptionKey {
			return false
		}
		deployments := deploymentsOf(of.Annotations)
		for cluster := range deployments {
			if !wanted[deploymentID{of.Labels[labelBundle], cluster}] {
				return false
			}
		}
		return len(deployments) > 0 // Without the annotation it is not known what the Bundle delivers.
	})
}

// refuseTaken leaves deployments out of the apply whose releases another owner delivers.
func (r *applyRun) refuseTaken(ctx context.Context) {
	taken := r.engine.taken(ctx, r.store.client, r.request.Owner, arriving(r.request.Write, r.request.Prior), r.view.clusters)
	r.request.Write = slices.DeleteFunc(slices.Clone(r.request.Write), func(d target.Deployment) bool {
		err := taken[deploy.KeyOf(d)]
		if err != nil {
			r.untouched(deploy.KeyOf(d), "deploying", err)
		}
		return err != nil
	})
}

// others returns the Bundles that have the owner and the name of the target, and are not recorded
// in its state.
func (r *applyRun) others(ctx context.Context, c *client, instances map[string]bool) ([]metadata, error) {
	marks := release.NewMark(r.request.Owner, r.request.Target, "", "", "")
	var found []metadata
	err := r.engine.listBundles(ctx, c, labelOwner+"="+marks.Owner+","+labelTarget+"="+marks.Target, func(of metadata) {
		if instance := of.Labels[labelInstance]; instance != "" && !instances[instance] {
			found = append(found, of)
		}
	})
	return found, err
}

func existingOf(bundles []metadata) []deploy.Existing {
	var existing []deploy.Existing
	for _, of := range bundles {
		clusters := slices.Sorted(maps.Keys(deploymentsOf(of.Annotations)))
		for _, cluster := range clusters {
			existing = append(existing, deploy.Existing{Cluster: mask.PrintableLine(cluster), Observed: release.Observed{
				Release: of.Name, Namespace: of.Namespace, Status: release.StatusDeployed, Mark: markOf(of.Labels),
			}})
		}
	}
	return existing
}

// writeAll writes all bundles with deployments to write, several at once.
func (r *applyRun) writeAll(ctx context.Context) {
	works := r.works()
	var writing sync.WaitGroup
	for _, name := range slices.Sorted(maps.Keys(works)) {
		w := works[name]
		notWritten := func(err error) {
			for _, d := range w.write {
				r.untouched(deploy.KeyOf(d), "deploying", err)
			}
		}
		writing.Go(panics.RecoveringTo(notWritten, "deploying", func() { w.deliver(ctx) }))
	}
	writing.Wait()
}

// work is the part of an apply that writes one bundle.
type work struct {
	run    *applyRun
	bundle *bundle.Bundle
	name   string // of the Bundle
	write  []target.Deployment
	// unchanged are wanted deployments that are not written, by cluster.
	unchanged map[string]target.Deployment
	progress  progress
}

func (r *applyRun) works() map[string]*work {
	works := map[string]*work{}
	for _, d := range r.request.Write {
		w := works[d.Bundle.Name]
		if w == nil {
			w = &work{run: r, bundle: d.Bundle, name: r.nameOf(d.Bundle.Name), unchanged: map[string]target.Deployment{}}
			works[d.Bundle.Name] = w
		}
		w.write = append(w.write, d)
	}
	for _, step := range r.request.Unchanged {
		if w := works[step.Deployment.Bundle.Name]; w != nil {
			w.unchanged[step.Deployment.Cluster] = step.Deployment
		}
	}
	return works
}

// nameOf returns the name of the Bundle of a bundle: the name of the existing Bundle, else a new
// name.
func (r *applyRun) nameOf(bundle string) string {
	for key, record := range r.request.Prior {
		if key.Bundle == bundle && record.Known.Instance != "" {
			if of, found := r.view.bundleOf(bundle, record.Known.Instance); found {
				return of.Name
			}
		}
	}
	if of, found := r.view.bundleOf(bundle, r.request.Instance); found {
		return of.Name
	}
	return nameOf(r.request.Owner, r.request.Instance, bundle)
}

// deliver writes the Bundle of a bundle and waits for its deployments.
func (w *work) deliver(ctx context.Context) {
	prepared := w.prepare(ctx)
	if len(prepared) == 0 {
		return
	}
	if err := w.run.slots.Acquire(ctx, 1); err != nil {
		w.failAll(prepared, context.Cause(ctx))
		return
	}
	digest, err := w.put(ctx, prepared)
	w.run.slots.Release(1)
	if err != nil {
		w.failAll(prepared, err)
		return
	}
	var waiting sync.WaitGroup
	for _, p := range prepared {
		key := deploy.KeyOf(p.deployment)
		failed := func(err error) { w.run.fail(key, "deploying", err, nil) }
		waiting.Go(panics.RecoveringTo(failed, "deploying", func() { w.await(ctx, p, digest) }))
	}
	waiting.Wait()
	if slices.ContainsFunc(prepared, func(p preparedDeployment) bool { return w.run.hasSucceeded(deploy.KeyOf(p.deployment)) }) {
		w.run.awaitOthers(ctx, w.name, digest)
	}
}

// awaitOthers waits until Fleet's controller has processed the unchanged deployments of a Bundle. A
// refresh right after an apply then finds them as they were. If the controller takes longer, these
// deployments have not failed.
func (r *applyRun) awaitOthers(ctx context.Context, bundle, digest string) {
	ctx, cancel := context.WithTimeout(ctx, forgetTime)
	defer cancel()
	for {
		behind, changed := r.tracker.lag(bundle, digest)
		if behind == 0 {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

func (w *work) failAll(of []preparedDeployment, err error) {
	for _, p := range of {
		w.run.untouched(deploy.KeyOf(p.deployment), "deploying", err)
	}
}

// preparedDeployment is a deployment with its rendering and its entry of the Bundle.
type preparedDeployment struct {
	deployment target.Deployment
	rendering  release.Rendering
	entry      entry
}

// prepare renders and translates deployments. A deployment for which that fails is not written.
func (w *work) prepare(ctx context.Context) []preparedDeployment {
	var prepared []preparedDeployment
	for _, d := range w.write {
		p, err := w.prepareOne(ctx, d)
		if err != nil {
			w.run.untouched(deploy.KeyOf(d), "deploying", err)
			continue
		}
		prepared = append(prepared, p)
	}
	return prepared
}

func (w *work) prepareOne(ctx context.Context, d target.Deployment) (preparedDeployment, error) {
	if err := Check(d); err != nil {
		return preparedDeployment{}, err
	}
	if _, known := w.run.view.clusters[d.Cluster]; !known {
		return preparedDeployment{}, fmt.Errorf("the management cluster has no Cluster of this name in namespace %s",
			w.run.engine.settings.Namespace)
	}
	rendering, err := w.run.engine.charts.Render(ctx, d)
	if err != nil {
		return preparedDeployment{}, d.MaskError(err)
	}
	translated, err := newEntry(d)
	return preparedDeployment{deployment: d, rendering: rendering, entry: translated}, err
}

// put writes the Bundle. contentOf decides about the entries of other clusters.
func (w *work) put(ctx context.Context, prepared []preparedDeployment) (digest string, err error) {
	own := map[string]string{}
	maps.Copy(own, w.bundle.Definition.Labels)
	return w.run.store.apply(ctx, edit{
		name: w.name, bundle: w.bundle.Name, mark: w.run.request.Mark(w.bundle.Name, ""), own: own,
		secrets: slices.ContainsFunc(prepared, func(p preparedDeployment) bool { return len(p.deployment.SecretTexts()) > 0 }),
		change:  func(before *stored) (content, error) { return w.contentOf(prepared, before) },
	})
}

// contentOf returns the new content of the Bundle, given its content before.
func (w *work) contentOf(prepared []preparedDeployment, before *stored) (content, error) {
	wanted := content{specification: newSpecification(w.bundle, w.run.request.Owner), entries: map[string]entry{}}
	for _, p := range prepared {
		wanted.entries[p.deployment.Cluster] = w.run.forceSync(w.name, p.deployment.Cluster, before, p.entry)
	}
	if before == nil {
		return wanted, nil
	}
	sameFiles := slices.Equal(wanted.Resources, before.content.Resources)
	folder, isKustomized, found := findEmptyFolder(wanted.Resources)
	for cluster, there := range before.content.entries {
		if _, written := wanted.entries[cluster]; written {
			continue
		}
		key := deploy.Key{Cluster: cluster, Bundle: w.bundle.Name}
		d, isWanted := w.unchanged[cluster]
		switch {
		case there.digest == emptyDigest && found:
			there = w.run.forceSync(w.name, cluster, before, there.gone(folder, isKustomized))
		case sameFiles, isWanted && d.Digest == there.digest:
		case slices.Contains(w.run.remove, key):
			// The agent would deploy the new files before it removes them.
			if w.run.canEmpty(key, there) && found {
				there = w.run.forceSync(w.name, cluster, before, there.gone(folder, isKustomized))
			}
		case isWanted && d.Paused:
			// Fleet holds the deployment until the cluster is not paused any more.
			translated, err := newEntry(d)
			if err != nil {
				return content{}, err
			}
			there = w.run.forceSync(w.name, cluster, before, translated)
		default:
			return content{}, fmt.Errorf("cluster %s is to keep an earlier version of the bundle, "+
				"and a Bundle of Fleet has the same files for all clusters; "+
				"repair its deployment there, or take the cluster out of the target", cluster)
		}
		wanted.entries[cluster] = there
	}
	return wanted, nil
}
