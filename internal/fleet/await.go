package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

const (
	// settleTime is how long a deployment must report the same error before the error counts: agents
	// repeat failed operations, and some then succeed.
	settleTime = 15 * time.Second
	// settleFormerTime is how long the error of the deployment before a change may stand: an agent
	// leaves it until it has carried out the change.
	settleFormerTime = time.Minute
	// mendAfter is how long a BundleDeployment may wait for its Secret.
	mendAfter = 10 * time.Second
	// recheck is the interval for checking what no event reports.
	recheck = 3 * time.Second
)

// progress records when a deployment of a bundle last changed.
type progress struct {
	mu   sync.Mutex
	last time.Time
	// checked is when the Bundle itself was last read, and message is as in sighting.
	checked time.Time
	message string
}

func (p *progress) made() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = time.Now()
}

func (p *progress) since() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

// messageOf reads the message of the Bundle once for all goroutines that wait for its deployments,
// and again after recheck.
func (p *progress) messageOf(read func() string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.checked) >= recheck {
		p.checked, p.message = time.Now(), read()
	}
	return p.message
}

// StateError reports a deployment that is not in the wanted state.
type StateError struct {
	State status.State
	// Text says what is wrong, such as "it is NotReady after 5m0s".
	Text string
	// Message is the message of Fleet, which quotes what templates make of secret values.
	Message string
}

func (e *StateError) Error() string {
	if e.Text == "" || e.Message == "" {
		return e.Text + e.Message
	}
	return e.Text + ": " + e.Message
}

// await waits for one deployment, and records its result.
func (w *work) await(ctx context.Context, p preparedDeployment, digest string) {
	key := deploy.KeyOf(p.deployment)
	w.run.start(key)
	waiter := &waiter{
		work: w, of: p.deployment, valuesHash: p.entry.valuesHash(), digest: digest,
		id: deploymentID{w.name, p.deployment.Cluster}, began: time.Now(),
	}
	w.progress.made()
	err := waiter.wait(ctx)
	record := w.record(p, waiter.last)
	var offline *offlineError
	switch {
	case err == nil:
		w.run.succeed(key, record)
	case errors.As(err, &offline) && w.run.engine.settings.OnOffline == LeaveOffline:
		record.Waits = true
		w.run.notice(deploy.Notice{Cluster: key.Cluster, Bundle: key.Bundle, Waits: "the agent " + offline.seen()})
		w.run.succeed(key, record)
	default:
		if of, ok := errors.AsType[*StateError](err); ok && of.Message != "" && p.deployment.HasSecretContent() {
			of.Message = withoutSecrets(deploy.Record{}, waiter.last)
		}
		err = p.deployment.MaskError(err)
		record.Message = status.Message(mask.PrintableLine(err.Error()))
		w.run.fail(key, "deploying", err, &record)
	}
}

// waiter waits for one deployment.
type waiter struct {
	work   *work
	of     target.Deployment
	digest string
	// valuesHash is as in sighting.
	valuesHash string
	id         deploymentID
	began      time.Time

	last     sighting
	version  string
	handed   time.Time // when the agent was given the deployment
	failing  time.Time // since when it reports failure
	failure  string
	starving starving
}

// wait returns nil when the deployment is carried out.
func (w *waiter) wait(ctx context.Context) error {
	for {
		bd, changed, err := w.work.run.tracker.deployment(w.id)
		w.see(ctx, bd)
		state, text := w.last.facts(w.work.run.engine.texts).State()
		if done, failure := w.judge(ctx, state, text); done {
			return failure
		}
		if w.isLate() {
			if err != nil {
				return err
			}
			return &StateError{State: state, Text: fmt.Sprintf("it is %s after %s", state, w.timeout()), Message: text}
		}
		select {
		case <-changed:
		case <-time.After(recheck):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// see records the newest BundleDeployment of the deployment.
func (w *waiter) see(ctx context.Context, bd *bundleDeployment) {
	w.last = sighting{deployment: bd, digest: w.digest, valuesHash: w.valuesHash, agent: w.work.run.view.clusters[w.of.Cluster].agent}
	isNew := bd != nil && bd.Metadata.Labels[labelDigest] == w.digest
	if bd != nil && bd.Metadata.ResourceVersion != w.version {
		w.version = bd.Metadata.ResourceVersion
		w.work.progress.made()
	}
	if isNew && w.handed.IsZero() && bd.Spec.DeploymentID != "" && bd.Spec.DeploymentID == bd.Spec.StagedDeploymentID {
		w.handed = time.Now()
	}
	w.last.isFormer = bd.hasErrorOf(w.work.run.view.deployments[w.id]) && time.Since(w.handed) < settleFormerTime
	if !isNew && time.Since(w.began) > recheck {
		w.last.bundleMessage = w.work.progress.messageOf(func() string {
			return w.work.run.engine.bundleMessage(ctx, w.work.run.store.client, w.work.name)
		})
	}
}

// judge reports whether the wait is over, and returns an error if the deployment has failed.
func (w *waiter) judge(ctx context.Context, state status.State, text string) (done bool, err error) {
	bd := w.last.deployment
	if state != status.ErrApplied || text != w.failure {
		w.failing, w.failure = time.Now(), text
	}
	isApplied := state == status.Ready || (state == status.NotReady || state == status.Modified) && !w.work.run.request.Settings.Wait
	switch {
	case isApplied:
		return true, nil
	case w.last.agent.offline && state == status.WaitApplied:
		return true, &offlineError{w.last.agent}
	case state == status.ErrApplied && time.Since(w.failing) >= settleTime:
		return true, &StateError{State: state, Message: text}
	case bd != nil && bd.Spec.Paused && state != status.NotReady:
		return true, &StateError{State: state, Text: "Fleet holds the deployment: the cluster or the Bundle is paused"}
	}
	err = w.starving.mend(ctx, w.work.run, w.last)
	return err != nil, err
}

// starving follows a BundleDeployment that waits for its Secret.
type starving struct{ since time.Time }

// mend repairs a BundleDeployment that has waited for its Secret for mendAfter. It does so again
// after each further mendAfter.
func (s *starving) mend(ctx context.Context, r *applyRun, seen sighting) error {
	switch {
	case !seen.lacksValues():
		s.since = time.Time{}
	case s.since.IsZero():
		s.since = time.Now()
	case time.Since(s.since) >= mendAfter:
		s.since = time.Now()
		return r.mend(ctx, seen.deployment)
	}
	return nil
}

// mend makes Fleet write the Secret of a BundleDeployment again. Fleet does not do that by itself
// when the BundleDeployment was deleted by hand. mend removes the hash of the values. If only the
// hash were removed, Fleet's controller would write a Secret without values. So mend also removes
// the IDs of the deployment: the controller then stages the options of the Bundle again. The agent
// does nothing in the meantime (Fleet: internal/cmd/controller/target/builder.go and partition.go).
func (r *applyRun) mend(ctx context.Context, bd *bundleDeployment) error {
	path := fleetPath + "/namespaces/" + bd.Metadata.Namespace + "/bundledeployments/" + bd.Metadata.Name
	err := r.store.client.patch(ctx, path, map[string]any{
		"metadata": map[string]any{"resourceVersion": bd.Metadata.ResourceVersion},
		"spec":     map[string]any{"valuesHash": nil, "deploymentID": nil, "stagedDeploymentID": nil, "waitingForValues": true},
	})
	if err == nil || apierrors.IsConflict(err) || isNotFound(err) {
		return nil // If another client has changed the object, the next check reads it again.
	}
	return fmt.Errorf("the Secret with the values of BundleDeployment %s/%s is missing, "+
		"and Fleet does not write it again; to make it do so, run "+
		"kubectl -n %[1]s patch bundledeployment %[2]s --type merge -p '{\"spec\":{\"valuesHash\":null,\"deploymentID\":null,\"stagedDeploymentID\":null}}': %[3]w",
		bd.Metadata.Namespace, bd.Metadata.Name, r.engine.failed("mending a BundleDeployment of", err))
}

// isLate reports whether the deployment has exceeded its timeout. The timeout begins when the agent
// is given the deployment. Until then, as during a rollout, the timeout begins again with each
// event of the bundle.
func (w *waiter) isLate() bool {
	from := w.handed
	if from.IsZero() {
		from = w.work.progress.since()
	}
	return time.Since(from) > w.timeout()
}

func (w *waiter) timeout() time.Duration { return w.work.run.request.Settings.TimeoutOf(w.of) }

// record returns the record of a deployment whose Bundle was written.
func (w *work) record(p preparedDeployment, s sighting) deploy.Record {
	d := p.deployment
	record := deploy.Record{
		Release: d.Release, Namespace: d.Namespace, Chart: p.rendering.Chart, Version: p.rendering.Version, Digest: d.Digest,
		Rules: release.RulesOf(d.Options), NamesVary: p.rendering.NamesVary, BundleLabels: d.Bundle.Labels(),
		Known: release.Known{
			Release: d.Release, Namespace: d.Namespace, Instance: w.run.request.Mark(d.Bundle.Name, "").Instance, Digest: d.Digest,
			// The key proves what the target writes itself when it takes the release back from the Fleet.
			Key: w.run.request.Key,
			UID: w.run.view.clusters[d.Cluster].uid, Engine: true, TargetNamespace: d.Options.Namespace,
			UninstallPolicy: release.UninstallPolicyOf(d),
		},
	}
	record.Objects = objectsOf(p, s.deployment)
	state, text := s.facts(w.run.engine.texts).State()
	record.State, record.Message = state, status.Message(mask.PrintableLine(d.Mask(text))) // Masked before it is cut.
	record.Counts = countsOf(record, s.deployment)
	return record
}

// objectsOf returns the objects of a deployment as this provider renders them. An object whose
// content can differ has the digest of the deployment in place of a hash: only the agent's
// rendering counts. If the names of the objects can differ, objectsOf returns the objects that the
// agent reports.
func objectsOf(p preparedDeployment, bd *bundleDeployment) map[string]string {
	const length = 12 // the length of a hash
	standIn := release.ShortHash([]byte(p.deployment.Digest))[:length]
	objects := p.rendering.KnownHashes()
	if objects != nil {
		for key, hash := range objects {
			if hash == "" {
				objects[key] = standIn
			}
		}
		return objects
	}
	objects = map[string]string{}
	if bd == nil {
		return objects
	}
	for _, of := range bd.Status.Resources {
		reported := diff.Object{
			Kind: of.Kind, Group: schema.FromAPIVersionAndKind(of.APIVersion, of.Kind).Group, Namespace: of.Namespace, Name: of.Name,
		}
		objects[mask.PrintableLine(reported.Key())] = standIn
	}
	return objects
}

// countsOf returns the numbers of objects of a record. If Fleet reports Ready, all objects count as
// ready: Fleet counts hooks and definitions differently.
func countsOf(record deploy.Record, bd *bundleDeployment) status.Counts {
	switch {
	case record.State == status.Ready:
		return status.Counts{Ready: len(record.Objects)}
	case bd == nil || !record.State.Settled() && record.State != status.Modified:
		return status.Counts{Unknown: len(record.Objects)}
	}
	return bd.counts()
}
