package run_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/run"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/policy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

var _ run.Cluster = (*memoryCluster)(nil)

const (
	owner    = "o"
	instance = "i"
	of       = "t" // the target
	// recordKey proves what the target writes.
	recordKey = "key of the target"
)

// capabilities is the operation that runs at the same time as a snapshot, in the same slot.
const capabilities = "capabilities"

// memoryCluster is a cluster whose releases and objects are in a map. It follows the rules that
// matter here: a release owns its objects, and an object has one owner. An uninstall removes all
// objects that it does not spare.
type memoryCluster struct {
	name string
	// untrusted reports that the content of the records is not proven.
	untrusted bool
	// confirmed reports that the configuration names the UID of the cluster.
	confirmed bool
	// before runs before each operation, such as "write ns/web". An error of before is the error
	// of the operation.
	before func(ctx context.Context, operation string) error

	mu       sync.Mutex
	calls    []string
	writes   map[string]release.Write // by release
	releases map[string]release.Observed
	objects  map[string]string // key to the release that owns it
	notReady map[string]error  // by release
	broken   map[string]error  // by release: Write leaves a failed revision and returns this error
	// leave runs after the removal of a release, and the removal returns its result.
	leave func() (release.Removed, error)
	// rollout is what a write waits for after everything is written.
	rollout func(ctx context.Context, key string) error
	// found returns the finding of a release. Without found, all objects are ready except those of
	// notReady.
	found map[string]func(release.Inspection) release.Finding
	// unlisted are existing releases, by key, that lists lack.
	unlisted map[string]bool
	// leftOut are namespaces whose releases are too large to list.
	leftOut []string
	// namespaces are those whose releases are known, nil for all.
	namespaces []string
	// creator is the creator of revisions that this provider did not make.
	creator release.Creator
	// removals are the removals that were carried out, by release.
	removals map[string]release.Removal
}

func newMemoryCluster(name string) *memoryCluster {
	return &memoryCluster{
		name: name, writes: map[string]release.Write{}, releases: map[string]release.Observed{}, objects: map[string]string{},
		notReady: map[string]error{}, broken: map[string]error{}, found: map[string]func(release.Inspection) release.Finding{},
		removals: map[string]release.Removal{},
	}
}

func (m *memoryCluster) begin(ctx context.Context, operation, on string) error {
	call := strings.TrimSpace(operation + " " + on)
	m.mu.Lock()
	m.calls = append(m.calls, call)
	m.mu.Unlock()
	if m.before == nil {
		return nil
	}
	return m.before(ctx, call)
}

func (m *memoryCluster) Snapshot(ctx context.Context) (release.Snapshot, error) {
	if err := m.begin(ctx, "look", ""); err != nil {
		return release.Snapshot{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	listed := m.listed()
	snapshot := release.Snapshot{UID: "uid-" + m.name, Confirmed: m.confirmed, Namespaces: m.namespaces, Releases: listed, LeftOut: m.leftOut}
	maps.DeleteFunc(listed, func(_ string, observed release.Observed) bool { return snapshot.LeavesOut(observed.Namespace) })
	return snapshot, nil
}

// listed returns the releases that a list contains.
func (m *memoryCluster) listed() map[string]release.Observed {
	listed := maps.Clone(m.releases)
	maps.DeleteFunc(listed, func(key string, _ release.Observed) bool { return m.unlisted[key] })
	return listed
}

func (m *memoryCluster) Release(ctx context.Context, namespace, name string) (*release.Observed, error) {
	if err := m.begin(ctx, "read", release.Key(namespace, name)); err != nil {
		return nil, err
	}
	if err := release.CheckNamespace(m.name, m.namespaces, namespace); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return release.Snapshot{Releases: m.listed()}.Find(namespace, name), nil
}

// HasRecord finds releases that a list lacks, too.
func (m *memoryCluster) HasRecord(ctx context.Context, namespace, name string, revision int) (bool, error) {
	if err := m.begin(ctx, "read", fmt.Sprintf("%s v%d", release.Key(namespace, name), revision)); err != nil {
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	observed, there := m.releases[release.Key(namespace, name)]
	return there && observed.Revision >= revision, nil
}

func (m *memoryCluster) Inspect(ctx context.Context, releases []release.Inspection) ([]release.Finding, error) {
	keys := make([]string, len(releases))
	findings := make([]release.Finding, len(releases))
	for i, inspection := range releases {
		keys[i] = release.Key(inspection.Observed.Namespace, inspection.Observed.Release)
	}
	if err := m.begin(ctx, "inspect", strings.Join(keys, " ")); err != nil {
		return nil, err
	}
	for i, inspection := range releases {
		findings[i] = m.find(inspection)
	}
	return findings, nil
}

func (m *memoryCluster) find(inspection release.Inspection) release.Finding {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := release.Key(inspection.Observed.Namespace, inspection.Observed.Release)
	if found, ok := m.found[key]; ok {
		return found(inspection)
	}
	if err := m.notReady[key]; err != nil {
		return release.Finding{Ready: 1, NotReady: []release.Unready{{Object: "it", Reason: err.Error()}}}
	}
	return release.Finding{Ready: 2}
}

// Await reads the objects every second, in the clock of a test with synctest.
func (m *memoryCluster) Await(ctx context.Context, of release.Inspection) (release.Finding, error) {
	for {
		err := m.begin(ctx, "inspect", release.Key(of.Observed.Namespace, of.Observed.Release))
		found := m.find(of)
		if err == nil && found.Settled() {
			return found, nil
		}
		select {
		case <-ctx.Done():
			return found, err
		case <-time.After(time.Second):
		}
	}
}

func (m *memoryCluster) Versions(ctx context.Context, references []target.Reference) (map[target.Reference]string, error) {
	versions := map[target.Reference]string{}
	for _, reference := range references {
		if err := m.begin(ctx, "version", reference.String()); err != nil {
			return nil, err
		}
		versions[reference] = "1"
	}
	return versions, nil
}

func (m *memoryCluster) Capabilities(ctx context.Context) (target.Capabilities, error) {
	if err := m.begin(ctx, capabilities, ""); err != nil {
		return target.Capabilities{}, err
	}
	return target.Capabilities{Version: "v1." + m.name}, nil
}

func (m *memoryCluster) Creator(context.Context, release.Observed) (release.Creator, error) {
	return m.creator, nil
}

func (m *memoryCluster) Objects(_ context.Context, releases []release.Observed) ([][]string, error) {
	objects := make([][]string, len(releases))
	for i, observed := range releases {
		objects[i] = slices.Sorted(maps.Keys(recorded(observed)))
	}
	return objects, nil
}

func (m *memoryCluster) Write(ctx context.Context, action release.Action, d target.Deployment, observed *release.Observed, w release.Write) (release.Written, error) {
	key := release.Key(d.Namespace, d.Release)
	if err := m.begin(ctx, action.String(), key); err != nil {
		return release.Written{}, err
	}
	if m.rollout != nil {
		w.Slot.Yield()
		w.Listener.WaitsFor(release.Unready{Object: "Deployment " + key, Reason: "InProgress: Available: 0/1"}, 1)
		defer w.Listener.WaitsFor(release.Unready{}, 0)
		if err := m.rollout(ctx, key); err != nil {
			return release.Written{}, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.writes[key] = w
	if m.untrusted && !action.Writes() {
		return release.Written{Observed: *observed, Untrusted: true}, nil
	}
	made := release.Observed{Release: d.Release, Namespace: d.Namespace, Revision: 1, Status: release.StatusDeployed, Mark: w.Mark}
	if observed != nil {
		made.Revision = observed.Revision + 1
	}
	if !action.Writes() {
		made.Revision = observed.Revision
	}
	made.Mark.Revision = made.Revision
	if err := m.broken[key]; err != nil {
		made.Status = release.StatusFailed
		m.releases[key] = signed(made, w.Proof)
		return release.Written{Revision: made.Revision}, err
	}
	rendering := rendered(d)
	for _, object := range rendering.Objects {
		identity, held := m.objects[object.Key()]
		if held && identity != key && !w.TakeOwnership && !slices.Contains(w.Former, identity) {
			return release.Written{}, fmt.Errorf("object %s belongs to release %s", object.Key(), identity)
		}
	}
	maps.DeleteFunc(m.objects, func(_, identity string) bool { return identity == key })
	for _, object := range rendering.Objects {
		m.objects[object.Key()] = key
	}
	made = signed(made, w.Proof)
	m.releases[key] = made
	return release.Written{Observed: made, Rendering: rendering, NotReady: m.notReady[key]}, nil
}

func (m *memoryCluster) Uninstall(ctx context.Context, observed release.Observed, removal release.Removal) (release.Removed, error) {
	key := release.Key(observed.Namespace, observed.Release)
	if err := m.begin(ctx, "uninstall", key); err != nil {
		return release.Removed{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if found, there := m.releases[key]; there && !cmp.Equal(found, observed) {
		return release.Removed{}, &release.ChangedError{Release: observed.Release, Namespace: observed.Namespace}
	}
	m.removals[key] = removal
	// Helm deletes the objects in the record, even if another release owns them by now.
	for object := range recorded(observed) {
		if !removal.KeepObjects[object] {
			delete(m.objects, object)
		}
	}
	delete(m.releases, key)
	if m.leave != nil {
		return m.leave()
	}
	return release.Removed{}, nil
}

// put adds a release with the objects that rendered returns.
func (m *memoryCluster) put(observed release.Observed) {
	key := release.Key(observed.Namespace, observed.Release)
	m.releases[key] = observed
	for object := range recorded(observed) {
		m.objects[object] = key
	}
}

// rendered returns one object in the namespace of a deployment, and one without a namespace that
// has the name of the bundle.
func rendered(d target.Deployment) release.Rendering {
	return release.Rendering{Chart: d.Bundle.Name, Version: "1.0.0", Objects: []diff.Object{
		{Kind: "ConfigMap", Namespace: d.Namespace, Name: d.Release, Hash: d.Digest},
		{Kind: "ClusterRole", Name: d.Bundle.Name, Hash: d.Digest},
	}}
}

// recorded returns the objects that the record of a release names.
func recorded(observed release.Observed) map[string]string {
	return rendered(target.Deployment{
		Release: observed.Release, Namespace: observed.Namespace, Digest: observed.Mark.Digest,
		Bundle: &bundle.Bundle{Name: observed.Mark.Bundle},
	}).Hashes()
}

// fleet is a set of clusters in memory.
type fleet map[string]*memoryCluster

func newFleet(names ...string) fleet {
	made := fleet{}
	for _, name := range names {
		made[name] = newMemoryCluster(name)
	}
	return made
}

func (f fleet) connect(name string) (run.Cluster, error) {
	cluster, ok := f[name]
	if !ok {
		return nil, &status.UnreachableError{Cluster: name, Err: errors.New("no such cluster")}
	}
	return cluster, nil
}

func (f fleet) runner() *run.Runner { return run.New(f.connect, 16) }

// deployment returns a deployment of a bundle whose release has the name of the bundle.
func deployment(cluster, name, digest string) target.Deployment {
	return target.Deployment{
		Cluster: cluster, Release: name, Namespace: "ns", Digest: digest, Bundle: &bundle.Bundle{Name: name},
	}
}

func key(cluster, name string) deploy.Key { return deploy.Key{Cluster: cluster, Bundle: name} }

// mark returns the mark that this target writes on a record.
func mark(name, digest string, revision int) release.Mark {
	made := release.NewMark(owner, of, instance, name, digest)
	made.Revision = revision
	return made
}

// deployed returns the release of a deployment at its first revision.
func deployed(d target.Deployment) release.Observed {
	return signed(release.Observed{
		Release: d.Release, Namespace: d.Namespace, Revision: 1, Status: release.StatusDeployed,
		Mark: mark(d.Bundle.Name, d.Digest, 1),
	}, proofOn(d.Cluster))
}

// proofOn is the proof of the target on a cluster.
func proofOn(cluster string) release.Proof {
	return release.Proof{Key: recordKey, UID: "uid-" + cluster}
}

// signed returns a release as the target writes it.
func signed(observed release.Observed, proof release.Proof) release.Observed {
	observed.MAC = proof.OfLabels(observed)
	return observed
}

// recordOfWrite returns the record of a deployment after a successful apply.
func recordOfWrite(d target.Deployment) deploy.Record {
	return deploy.Record{
		Release: d.Release, Namespace: d.Namespace, Chart: d.Bundle.Name, Version: "1.0.0", Digest: d.Digest,
		State: status.Ready, Objects: rendered(d).Hashes(), Counts: status.Counts{Ready: 2},
		BundleLabels: d.Bundle.Labels(), Known: knownOf(d),
	}
}

// knownOf returns what state has recorded of a release that this target wrote.
func knownOf(d target.Deployment) release.Known {
	return release.Known{
		Release: d.Release, Namespace: d.Namespace, UID: "uid-" + d.Cluster, Instance: instance, Digest: d.Digest,
		Key: recordKey, Revision: 1, UninstallPolicy: release.UninstallPolicyOf(d),
	}
}

// upgraded returns the record of a release that was written a second time.
func upgraded(record deploy.Record) deploy.Record {
	record.Known.Revision = 2
	return record
}

func request(prior map[deploy.Key]deploy.Record) run.Request {
	return run.Request{
		TargetIdentity: identity(), Prior: prior,
		Settings: run.Settings{
			Wait: true, Timeout: time.Minute, MaxHistory: 5,
			Description: func(d target.Deployment) string { return d.Bundle.Name },
		},
	}
}

// failed lists what failed, such as "c1/web installing".
func failed(failures []deploy.Failure) []string {
	names := make([]string, len(failures))
	for i, failure := range failures {
		names[i] = strings.TrimSuffix(failure.Cluster+"/"+failure.Bundle, "/") + " " + failure.Doing
	}
	return names
}

// did lists the operations in order, without those that only read.
func (m *memoryCluster) did() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(m.calls), func(call string) bool {
		return isLook(call) || strings.HasPrefix(call, "read ")
	})
}

func isLook(operation string) bool { return operation == "look" || operation == capabilities }

func (m *memoryCluster) held() map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.objects)
}

// unreachable returns the error of a cluster that does not respond.
func unreachable(name string) error {
	return &status.UnreachableError{Cluster: name, Err: errors.New("connection refused")}
}

func expectNoFailures(t *testing.T, failures []deploy.Failure) {
	t.Helper()
	for _, failure := range failures {
		t.Errorf("%s/%s: %s: %v", failure.Cluster, failure.Bundle, failure.Doing, failure.Err)
	}
}

// by returns a release with the id of another target.
func by(observed release.Observed, instance string) release.Observed {
	observed.Mark.Instance = instance
	return observed
}

// consent is the consent to deployments that match a pattern.
func consent(t *testing.T, patterns ...string) deploy.Consent {
	t.Helper()
	of, err := policy.NewDeployments(patterns)
	if err != nil {
		t.Fatal(err)
	}
	return deploy.Consent{Of: of}
}
