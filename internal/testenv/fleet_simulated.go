package testenv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

const (
	// standInRequests is how many requests of the stand-in run at the same time.
	standInRequests = 16
	// standInPage is how many BundleDeployments the stand-in lists in one request.
	standInPage = 500
	// watchTime is after what time the stand-in lists everything again. checkInInterval is how old
	// the report of an agent may be then. Together they are the 15 minutes of agents.
	watchTime       = 5 * time.Minute
	checkInInterval = 10 * time.Minute
)

// fleetDeployments returns the resource of Fleet's BundleDeployment objects.
func fleetDeployments() schema.GroupVersionResource {
	return fleetClusters().GroupVersion().WithResource("bundledeployments")
}

// Simulate adds Cluster objects without clusters. A stand-in for their agents reports each
// BundleDeployment as applied and ready, and does nothing else: no chart is rendered, and there are
// no objects. Everything else of Fleet is real. Simulate thus measures how the load of Fleet and of
// clients that write Bundles grows with the number of clusters. It returns when Fleet has prepared
// the clusters and all agents were seen.
func (f *Fleet) Simulate(ctx context.Context, clusters []FleetCluster) (*Simulation, error) {
	client, err := f.newFleetClient(FleetManagement)
	if err != nil {
		return nil, err
	}
	played := standIn{fleetClient: client, names: map[string]bool{}, simulation: &Simulation{}}
	for _, cluster := range clusters {
		played.names[cluster.Name] = true
	}
	limited, cancel := context.WithTimeout(ctx, fleetTimeout)
	defer cancel()
	group, groupCtx := errgroup.WithContext(limited)
	group.SetLimit(standInRequests)
	for _, cluster := range clusters {
		group.Go(func() error { return client.addCluster(groupCtx, cluster, map[string]any{}) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	played.start(ctx, f.env.local.log)
	if err := played.wait(limited, "the agents of simulated clusters", played.allSeen); err != nil {
		played.simulation.Stop()
		return nil, err
	}
	return played.simulation, nil
}

// A Simulation is the stand-in for the agents of some clusters. It runs until it is stopped.
type Simulation struct {
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu   sync.Mutex
	last time.Time
}

// Stop ends the stand-in. After that, the agents of its clusters seem to have stopped.
func (s *Simulation) Stop() {
	s.cancel()
	s.running.Wait()
}

// Last returns when the stand-in last reported a BundleDeployment as applied, or saw one deleted.
func (s *Simulation) Last() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

func (s *Simulation) acted() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = time.Now()
}

// allSeen returns an error while some agents of the simulated clusters were not seen yet.
func (s standIn) allSeen(ctx context.Context) error {
	found, err := s.dynamic.Resource(fleetClusters()).Namespace(FleetNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing clusters: %w", err)
	}
	seen := 0
	for _, item := range found.Items {
		if s.names[item.GetName()] && !lastSeen(&item).IsZero() {
			seen++
		}
	}
	if seen < len(s.names) {
		return fmt.Errorf("%d of %d were seen", seen, len(s.names))
	}
	return nil
}

func lastSeen(cluster *unstructured.Unstructured) time.Time {
	text, _, _ := unstructured.NestedString(cluster.Object, "status", "agent", "lastSeen")
	seen, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return seen
}

// checkIn reports the agent of a cluster as an agent does, as soon as Fleet has created a namespace
// for the cluster. It reports again if the report is lost: Fleet's controller writes the whole
// status of a cluster, also one that it read before the report.
func (s standIn) checkIn(ctx context.Context, cluster *unstructured.Unstructured) error {
	namespace, _, _ := unstructured.NestedString(cluster.Object, "status", "namespace")
	if namespace == "" || !s.names[cluster.GetName()] || time.Since(lastSeen(cluster)) < checkInInterval {
		return nil
	}
	seen := map[string]any{"status": map[string]any{"agent": map[string]any{
		"lastSeen": time.Now().UTC().Format(time.RFC3339), "namespace": fleetSystem,
	}}}
	if err := patchStatus(ctx, s.dynamic.Resource(fleetClusters()).Namespace(FleetNamespace), cluster.GetName(), seen); err != nil {
		return fmt.Errorf("reporting the agent of cluster %s: %w", cluster.GetName(), err)
	}
	return nil
}

func patchStatus(ctx context.Context, objects dynamic.ResourceInterface, name string, patch map[string]any) error {
	content, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("encoding the status of %s: %w", name, err)
	}
	_, err = objects.Patch(ctx, name, types.MergePatchType, content, metav1.PatchOptions{}, "status")
	return err
}

// A standIn simulates the agents of clusters.
type standIn struct {
	fleetClient
	names      map[string]bool // of the clusters
	simulation *Simulation
}

// start simulates agents until the simulation is stopped.
func (s standIn) start(ctx context.Context, log Log) {
	ctx, s.simulation.cancel = context.WithCancel(context.WithoutCancel(ctx))
	for resource, act := range map[schema.GroupVersionResource]action{fleetClusters(): s.checkIn, fleetDeployments(): s.acknowledge} {
		s.simulation.running.Go(func() { s.repeat(ctx, log, resource, act) })
	}
}

// An action is what agents do when an object is new or has changed.
type action func(context.Context, *unstructured.Unstructured) error

// repeat calls act for the objects of a kind until the context ends. It starts a new watch when one
// ends.
func (s standIn) repeat(ctx context.Context, log Log, resource schema.GroupVersionResource, act action) {
	for ctx.Err() == nil {
		if err := s.actOn(ctx, resource, act); err != nil && ctx.Err() == nil {
			log("the stand-in for agents begins again: %v", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pollInterval):
		}
	}
}

func (s standIn) actOn(ctx context.Context, resource schema.GroupVersionResource, act action) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(standInRequests)
	err := s.follow(ctx, resource, func(item *unstructured.Unstructured) {
		group.Go(func() error { return act(ctx, item) })
	})
	return errors.Join(err, group.Wait())
}

// follow calls handle for each object of a kind, and again when the object changes. It ends with
// its watch.
func (s standIn) follow(ctx context.Context, resource schema.GroupVersionResource, handle func(*unstructured.Unstructured)) error {
	all := s.dynamic.Resource(resource)
	options := metav1.ListOptions{Limit: standInPage}
	for {
		list, err := all.List(ctx, options)
		if err != nil {
			return fmt.Errorf("listing %s: %w", resource.Resource, err)
		}
		for i := range list.Items {
			handle(&list.Items[i])
		}
		options.Continue = list.GetContinue()
		if options.Continue == "" {
			seconds := int64(watchTime.Seconds())
			options = metav1.ListOptions{ResourceVersion: list.GetResourceVersion(), TimeoutSeconds: &seconds}
			break
		}
	}
	events, err := all.Watch(ctx, options)
	if err != nil {
		return fmt.Errorf("watching %s: %w", resource.Resource, err)
	}
	defer events.Stop()
	for event := range events.ResultChan() {
		item, ok := event.Object.(*unstructured.Unstructured)
		switch {
		case !ok || event.Type == watch.Error:
			return nil
		case event.Type != watch.Deleted:
			handle(item)
		case resource == fleetDeployments():
			s.simulation.acted()
		}
	}
	return nil
}

// acknowledge reports one BundleDeployment in the same way as an agent that has applied it.
func (s standIn) acknowledge(ctx context.Context, item *unstructured.Unstructured) error {
	wanted, _, _ := unstructured.NestedString(item.Object, "spec", "deploymentID")
	applied, _, _ := unstructured.NestedString(item.Object, "status", "appliedDeploymentID")
	if wanted == "" || wanted == applied || !s.names[item.GetLabels()["fleet.cattle.io/cluster"]] {
		return nil
	}
	now := time.Now().UTC().Format(time.RFC3339)
	var conditions []any
	for _, kind := range []string{"Installed", "Deployed", "Ready", "Monitored"} {
		conditions = append(conditions, map[string]any{"type": kind, "status": "True", "lastUpdateTime": now})
	}
	status := map[string]any{"status": map[string]any{
		"appliedDeploymentID": wanted, "ready": true, "nonModified": true, "conditions": conditions,
	}}
	err := patchStatus(ctx, s.dynamic.Resource(fleetDeployments()).Namespace(item.GetNamespace()), item.GetName(), status)
	if err != nil && !apierrors.IsNotFound(err) { // It can be deleted in the meantime.
		return fmt.Errorf("reporting BundleDeployment %s/%s as applied: %w", item.GetNamespace(), item.GetName(), err)
	}
	s.simulation.acted()
	return nil
}
