package kube

import (
	"context"
	"errors"
	"net/http"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// watches are the watches of one wait, one for each kind and namespace. A watch that has ended is
// started again only after another poll, so a gap between two watches does no harm. client-go's
// RetryWatcher avoids gaps, but it repeats without end a watch that the server does not support.
type watches struct {
	client *Client
	// events receives the events of all watches.
	events chan watchEvent

	running map[group]context.CancelFunc
	all     sync.WaitGroup
	// refused groups are not watched again. paused groups are not watched before the next poll,
	// because a watch that ended at once may end at once again.
	refused, paused map[group]bool
	// expired is true for a group whose last resource version the API server no longer has.
	expired map[group]bool
	seen    map[*resource.Info]version
}

// version contains what a watch needs of an object.
type version struct {
	number  string
	managed bool // by Helm, according to its label
}

// watchEvent is a change of an object. Without an object, it means that all objects of a group have
// to be read.
type watchEvent struct {
	of      group
	object  *unstructured.Unstructured
	deleted bool
	// ended is true if this watch sends no more events, and err is the reason.
	ended bool
	err   error
}

func newWatches(c *Client) *watches {
	const room = 64 // for events during a poll
	return &watches{
		client: c, events: make(chan watchEvent, room), running: map[group]context.CancelFunc{},
		refused: map[group]bool{}, paused: map[group]bool{}, expired: map[group]bool{}, seen: map[*resource.Info]version{},
	}
}

// observe records the version of an object that was read.
func (w *watches) observe(object *resource.Info, live *unstructured.Unstructured) {
	if live != nil {
		w.seen[object] = version{number: live.GetResourceVersion(), managed: managed.Matches(labels.Set(live.GetLabels()))}
	}
}

//nolint:gochecknoglobals // a constant
var managed = labels.Set{wellknown.ManagedBy: wellknown.ManagedByHelm}.AsSelector()

// isOld reports whether live is older than what was last read of an object. A watch begins at the
// oldest version of several objects, and sends older events of the others.
func (w *watches) isOld(object *resource.Info, live *unstructured.Unstructured) bool {
	seen, ok := w.seen[object]
	if !ok || seen.number == live.GetResourceVersion() {
		return false
	}
	return older(seen.number, live.GetResourceVersion()) == live.GetResourceVersion()
}

// unwatched returns the objects without a watch.
func (w *watches) unwatched(objects []*resource.Info) []*resource.Info {
	var alone []*resource.Info
	for _, object := range objects {
		if w.running[groupOf(object)] == nil {
			alone = append(alone, object)
		}
	}
	return alone
}

// cover starts the missing watches at the versions that were last read. The watches end with ctx.
func (w *watches) cover(ctx context.Context, objects []*resource.Info) {
	groups := map[group][]*resource.Info{}
	for _, object := range w.unwatched(objects) {
		if key := groupOf(object); !w.refused[key] && !w.paused[key] {
			groups[key] = append(groups[key], object)
		}
	}
	for key, members := range groups {
		options, ok := w.options(members)
		if !ok {
			continue
		}
		if w.expired[key] {
			options.ResourceVersion = ""
		}
		names := make(map[string]bool, len(members))
		for _, member := range members {
			names[member.Name] = true
		}
		watching, cancel := context.WithCancel(ctx)
		w.running[key] = cancel
		w.all.Go(func() {
			defer cancel()
			err := panics.Recovering("watching objects", func() error { return w.follow(watching, key, options, names) })()
			w.send(watching, watchEvent{of: key, ended: true, err: err})
		})
	}
}

// options returns the options of a watch for objects of one kind and namespace. It returns false if
// none of them was read, because the watch then has no version to begin at.
func (w *watches) options(members []*resource.Info) (metav1.ListOptions, bool) {
	var (
		options = metav1.ListOptions{LabelSelector: managedByHelm}
		known   bool
	)
	for _, member := range members {
		seen, ok := w.seen[member]
		if !ok {
			continue
		}
		if !known {
			known, options.ResourceVersion = true, seen.number
		}
		options.ResourceVersion = older(options.ResourceVersion, seen.number)
		if !seen.managed {
			options.LabelSelector = ""
		}
	}
	if len(members) == 1 {
		options.LabelSelector, options.FieldSelector = "", fields.OneTermEqualSelector(metav1.ObjectNameField, members[0].Name).String()
	}
	return options, known
}

// older returns the earlier one of two versions, "" if the order is unknown.
func older(a, b string) string {
	order, err := resourceversion.CompareResourceVersion(a, b)
	switch {
	case err != nil:
		return ""
	case order <= 0:
		return a
	}
	return b
}

// follow sends the changes of the named objects until the watch ends, and returns why it ended.
// Without a version to begin at, the watch begins now, and an event requests a read of the objects.
func (w *watches) follow(ctx context.Context, of group, options metav1.ListOptions, names map[string]bool) error {
	anew := options.ResourceVersion == ""
	if anew {
		now, err := w.client.reader.dynamic.Resource(of.resource).Namespace(of.namespace).List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil {
			return err
		}
		options.ResourceVersion = now.GetResourceVersion()
	}
	events, err := w.client.reader.watching.Resource(of.resource).Namespace(of.namespace).Watch(ctx, options)
	if err != nil {
		return err
	}
	defer events.Stop()
	if anew {
		w.send(ctx, watchEvent{of: of})
	}
	for event := range events.ResultChan() {
		switch event.Type {
		case watch.Error:
			return apierrors.FromObject(event.Object)
		case watch.Added, watch.Modified, watch.Deleted:
			if object, ok := event.Object.(*unstructured.Unstructured); ok && names[object.GetName()] {
				w.send(ctx, watchEvent{of: of, object: object, deleted: event.Type == watch.Deleted})
			}
		case watch.Bookmark: // Bookmarks are not requested.
		}
	}
	return ctx.Err()
}

func (w *watches) send(ctx context.Context, what watchEvent) {
	select {
	case w.events <- what:
	case <-ctx.Done():
	}
}

// stop ends the watch of a group without pending objects.
func (w *watches) stop(of group) {
	if cancel, ok := w.running[of]; ok {
		cancel()
	}
}

// ended records how a watch has ended.
func (w *watches) ended(how watchEvent) {
	delete(w.running, how.of)
	w.paused[how.of] = true
	var answer apierrors.APIStatus
	if !errors.As(how.err, &answer) {
		return
	}
	switch code := answer.Status().Code; {
	case code == http.StatusGone:
		w.expired[how.of] = true
	case code == http.StatusTooManyRequests:
	case code >= http.StatusBadRequest && code < http.StatusInternalServerError:
		w.refused[how.of] = true
	}
}

// resume allows watches that have ended to be started again.
func (w *watches) resume() { clear(w.paused) }
