package testenv

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// LoseAgent kills the agent of a cluster, and makes it one that was last seen an hour ago. It stays so
// until StartAgent.
//
// One write would not be enough: Fleet computes the status of a Cluster from an object that it has read
// before, and writes all of it, with the former time.
func (f *Fleet) LoseAgent(ctx context.Context, cluster string) error {
	if err := errors.Join(f.find(cluster), f.StopAgent(ctx, cluster)); err != nil {
		return err
	}
	management, err := f.newFleetClient(FleetManagement)
	if err != nil {
		return err
	}
	lost := &lostAgent{
		clusters: management.clusters(),
		cluster:  cluster,
		lastSeen: time.Now().Add(-time.Hour).UTC().Format(time.RFC3339),
		done:     make(chan error, 1),
	}
	if err := lost.keep(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("setting when the agent of cluster %s was last seen: %w", cluster, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lost[cluster] = lost
	return nil
}

// find ends what LoseAgent began. It does nothing for other agents.
func (f *Fleet) find(clusters ...string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var failures []error
	for _, cluster := range clusters {
		if lost, ok := f.lost[cluster]; ok {
			delete(f.lost, cluster)
			failures = append(failures, lost.end())
		}
	}
	return errors.Join(failures...)
}

// A lostAgent writes when an agent was last seen, again after each other write.
type lostAgent struct {
	clusters dynamic.ResourceInterface
	cluster  string
	lastSeen string
	cancel   context.CancelFunc
	done     chan error
}

// keep returns after the first write.
func (l *lostAgent) keep(ctx context.Context) error {
	ctx, l.cancel = context.WithCancel(ctx)
	written, err := l.write(ctx)
	if err != nil {
		l.cancel()
		return err
	}
	events, err := watchtools.NewRetryWatcherWithContext(ctx, written.GetResourceVersion(), l)
	if err != nil {
		l.cancel()
		return err
	}
	go func() { l.done <- l.writeAgain(ctx, events) }()
	return nil
}

func (l *lostAgent) end() error {
	l.cancel()
	return <-l.done
}

func (l *lostAgent) write(ctx context.Context) (*unstructured.Unstructured, error) {
	patch := fmt.Appendf(nil, `{"status": {"agent": {"lastSeen": %q}}}`, l.lastSeen)
	return l.clusters.Patch(ctx, l.cluster, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
}

func (l *lostAgent) writeAgain(ctx context.Context, events watch.Interface) error {
	defer events.Stop()
	for event := range events.ResultChan() {
		if event.Type == watch.Error {
			return fmt.Errorf("watching cluster %s: %w", l.cluster, apierrors.FromObject(event.Object))
		}
		found, ok := event.Object.(*unstructured.Unstructured)
		if !ok || event.Type == watch.Deleted {
			return fmt.Errorf("watching cluster %s: it was deleted", l.cluster)
		}
		if seen, _, _ := unstructured.NestedString(found.Object, "status", "agent", "lastSeen"); seen == l.lastSeen {
			continue
		}
		if _, err := l.write(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// WatchWithContext watches the Cluster object.
func (l *lostAgent) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.FieldSelector = fields.OneTermEqualSelector("metadata.name", l.cluster).String()
	return l.clusters.Watch(ctx, options)
}

var _ cache.WatcherWithContext = &lostAgent{}
