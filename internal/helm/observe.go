package helm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/helm/storage"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// recordIndex lists release records by their labels. It reads metadata only, because each
// record contains a whole chart.
type recordIndex struct {
	connection *connection

	mu sync.Mutex
	// seen are the revisions of the newest records that were ever listed.
	seen map[string]int
}

func newRecordIndex(connection *connection) *recordIndex {
	return &recordIndex{connection: connection, seen: map[string]int{}}
}

// Releases lists the newest record of every release on the cluster, or in the namespaces of New, by
// namespace/name. It includes releases of all tools. It reads metadata only, page by page, because
// each record contains a whole chart. leftOut are namespaces whose records are too large to list.
func (c *Client) Releases(ctx context.Context) (found map[string]release.Observed, leftOut []string, err error) {
	return c.records.list(ctx, c.connection.listed(), labels.Set{wellknown.RecordOwner: wellknown.RecordOwnerHelm})
}

// Release reads the newest record of one release. It returns nil if there is none.
func (c *Client) Release(ctx context.Context, namespace, name string) (*release.Observed, error) {
	selector := labels.Set{wellknown.RecordOwner: wellknown.RecordOwnerHelm, wellknown.RecordName: name}
	found, leftOut, err := c.records.list(ctx, []string{namespace}, selector)
	if denied, is := errors.AsType[*release.ListDeniedError](err); is {
		return nil, denied.Err // The namespaces of New do not decide about this list.
	}
	if err != nil {
		return nil, err
	}
	if len(leftOut) > 0 {
		return nil, historyTooLarge(namespace, name)
	}
	if observed, ok := found[release.Key(namespace, name)]; ok {
		return &observed, nil
	}
	return c.records.confirm(ctx, namespace, name)
}

// historyTooLarge returns the error for a release with more records than are read.
func historyTooLarge(namespace, name string) error {
	return fmt.Errorf("the metadata of the Secrets with the labels of release %s in namespace %s takes more than %d MiB; "+
		"delete those that are not its records",
		name, namespace, maxNamespace>>20)
}

// list reads the newest record of each release that a selector matches, by namespace/name. leftOut
// are namespaces whose records are too large to list.
func (x *recordIndex) list(
	ctx context.Context, namespaces []string, selector labels.Set,
) (newest map[string]release.Observed, leftOut []string, err error) {
	histories := map[string][]release.Observed{}
	current := labels.SelectorFromSet(selector).String() + "," + wellknown.RecordStatus + "!=" + string(release.StatusSuperseded)
	var seeing sync.Mutex
	leftOut, err = x.eachRecord(ctx, namespaces, current, func(record *metav1.PartialObjectMetadata) error {
		observed := storage.Observe(record)
		key := storage.Shared(release.Key(observed.Namespace, observed.Release))
		seeing.Lock()
		defer seeing.Unlock()
		histories[key] = append(histories[key], observed)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	newest = make(map[string]release.Observed, len(histories))
	x.mu.Lock()
	defer x.mu.Unlock()
	for key, history := range histories {
		observed := release.Newest(history)
		if slices.Contains(leftOut, observed.Namespace) {
			continue
		}
		newest[key], x.seen[key] = observed, observed.Revision
	}
	return newest, leftOut, nil
}

// eachRecord calls see for the metadata of each record that a selector matches, in several namespaces
// at once. All namespaces together have the limits of one list.
func (x *recordIndex) eachRecord(
	ctx context.Context, namespaces []string, selector string, see func(*metav1.PartialObjectMetadata) error,
) (leftOut []string, err error) {
	leftOuts, errs := make([][]string, len(namespaces)), make([]error, len(namespaces))
	limit := min(maxNamespace, maxTotal/len(namespaces))
	var listing errgroup.Group
	listing.SetLimit(lookups)
	for i, namespace := range namespaces {
		listing.Go(func() error {
			errs[i] = panics.Recovering("listing the release records", func() (err error) {
				leftOuts[i], err = eachMetadata(ctx, x.connection.secrets(namespace), selector, limit, see)
				return err
			})()
			return nil
		})
	}
	_ = listing.Wait() // Each list has its own error.
	return slices.Concat(leftOuts...), x.listError(namespaces, errs)
}

// listError returns the error of the lists of release records, one for each namespace. If several
// are refused, it is one error.
func (x *recordIndex) listError(namespaces []string, errs []error) error {
	var (
		first  error
		denied []string
	)
	for i, err := range errs {
		if apierrors.IsForbidden(err) {
			denied = append(denied, namespaces[i])
		}
		if first == nil {
			first = err
		}
	}
	if first == nil {
		return nil
	}
	err := fmt.Errorf("listing the release records: %w", first)
	if !apierrors.IsForbidden(first) {
		return err
	}
	return &release.ListDeniedError{Namespaces: x.connection.recordNamespaces, Others: denied[1:], Err: err}
}

// confirm gets by name the record of a release that was seen before and is missing in a list
// now. It returns nil if the record no longer exists. A list can be empty for other reasons.
func (x *recordIndex) confirm(ctx context.Context, namespace, name string) (*release.Observed, error) {
	x.mu.Lock()
	revision, ok := x.seen[release.Key(namespace, name)]
	x.mu.Unlock()
	if !ok {
		return nil, nil // a missing release is a result, not an error
	}
	return x.named(ctx, namespace, storage.RecordName(name, revision))
}

// HasRecord reports whether the record of one revision exists. It gets the record by name,
// because a list can lack it.
func (c *Client) HasRecord(ctx context.Context, namespace, name string, revision int) (bool, error) {
	found, err := c.records.named(ctx, namespace, storage.RecordName(name, revision))
	return found != nil, err
}

// named reads the labels of a record by its name. It returns nil if no record has that name.
func (x *recordIndex) named(ctx context.Context, namespace, name string) (*release.Observed, error) {
	record, err := x.connection.secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil // a missing release is a result, not an error
	}
	if err != nil {
		return nil, fmt.Errorf("reading a release record that existed before: %w", err)
	}
	observed := storage.Observe(record)
	return &observed, nil
}

// mark changes the labels of the record of a revision, and nothing else.
func (x *recordIndex) mark(ctx context.Context, namespace, name string, revision int, labels map[string]string) error {
	change, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": labels}})
	if err != nil {
		return fmt.Errorf("writing labels: %w", err)
	}
	record := storage.RecordName(name, revision)
	options := metav1.PatchOptions{FieldManager: fieldManager}
	if _, err := x.connection.secrets(namespace).Patch(ctx, record, types.MergePatchType, change, options); err != nil {
		return fmt.Errorf("marking the record %s: %w", record, err)
	}
	return nil
}

// history reads the metadata of all revisions of a release.
func (x *recordIndex) history(ctx context.Context, namespace, name string) ([]release.Observed, error) {
	selector := labels.SelectorFromSet(labels.Set{wellknown.RecordOwner: wellknown.RecordOwnerHelm, wellknown.RecordName: name}).String()
	var history []release.Observed
	secrets := x.connection.secrets(namespace)
	leftOut, err := eachMetadata(ctx, secrets, selector, maxNamespace, func(record *metav1.PartialObjectMetadata) error {
		history = append(history, storage.Observe(record))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing the history of release %s: %w", name, err)
	}
	if len(leftOut) > 0 {
		return nil, historyTooLarge(namespace, name)
	}
	return history, nil
}

// remove deletes all records of a release, oldest first, and changes nothing else. It does not
// decode records, so that it also removes a damaged one.
func (x *recordIndex) remove(ctx context.Context, observed release.Observed) error {
	history, err := x.history(ctx, observed.Namespace, observed.Release)
	if err != nil {
		return err
	}
	if len(history) == 0 {
		return nil
	}
	if err := unchanged(observed, release.Newest(history)); err != nil {
		return err
	}
	secrets := x.connection.secrets(observed.Namespace)
	slices.SortFunc(history, func(a, b release.Observed) int { return cmp.Compare(a.Revision, b.Revision) })
	for _, revision := range history {
		name := storage.RecordName(revision.Release, revision.Revision)
		if err := secrets.Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("removing the record %s: %w", name, err)
		}
	}
	return nil
}
