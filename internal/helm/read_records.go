package helm

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	helmrelease "helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/helm/storage"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/paging"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

const (
	// listedFrom is the number of records from which on a list costs less than one request for
	// each. A list also returns older revisions.
	listedFrom = 4
	// recordsAtOnce is how many records are in memory at the same time. Each contains a chart.
	recordsAtOnce = 20
	// maxListedNamespace and maxListed are the maximum size of the records that one list reads, in
	// one namespace and together, in bytes. Other records are read one by one.
	maxListedNamespace = 256 << 20
	maxListed          = 1 << 30
	// readsAtOnce is how many requests for single records run in parallel.
	readsAtOnce = 8
)

// recordReader reads the content of release records. It keeps the records that this process
// has written until their objects are inspected, so that they are not read again.
type recordReader struct {
	connection *connection
	cache      *RecordCache

	mu sync.Mutex
	// kept are records that this process wrote and whose objects were not inspected since.
	kept map[string]storage.Record
}

func newRecordReader(connection *connection, cache *RecordCache) *recordReader {
	return &recordReader{connection: connection, cache: cache, kept: map[string]storage.Record{}}
}

// read reads the content of releases from their records. It reads the records of one owner
// with a list, page by page. For records that the list does not contain, it sends one request
// each.
func (r *recordReader) read(ctx context.Context, wanted []release.Inspection) []storage.Content {
	client, found := r.connection.Typed(), make([]storage.Content, len(wanted))
	listed := map[string]storage.Content{}
	lists := map[recordList]int{}
	for _, of := range wanted {
		if kept, ok := r.justWritten(of.Observed); ok {
			listed[recordKey(of.Observed)] = storage.ParseRecord(kept, storage.RecordName(of.Observed.Release, of.Observed.Revision))
			continue
		}
		lists[r.listOf(of.Observed)]++
	}
	for list, number := range lists {
		if list.instance != "" && number >= listedFrom {
			isOther := func(of release.Inspection) bool { return r.listOf(of.Observed) != list }
			list.read(ctx, client, slices.DeleteFunc(slices.Clone(wanted), isOther), listed)
		}
	}
	var reading errgroup.Group
	reading.SetLimit(readsAtOnce)
	for i, of := range wanted {
		if known, ok := listed[recordKey(of.Observed)]; ok {
			found[i] = known
			continue
		}
		reading.Go(func() error {
			if err := panics.Recovering("reading the record of release "+of.Observed.Release, func() error {
				found[i] = readRecord(ctx, client, of)
				return nil
			})(); err != nil {
				found[i].Err = err
			}
			return nil
		})
	}
	_ = reading.Wait() // Each result has its own error.
	return found
}

func recordKey(observed release.Observed) string {
	return observed.Namespace + "/" + storage.RecordName(observed.Release, observed.Revision)
}

// recordList is a list of the records of one owner, in one namespace or in all.
type recordList struct{ instance, namespace string }

func (r *recordReader) listOf(observed release.Observed) recordList {
	return recordList{instance: observed.Mark.Instance, namespace: r.connection.listedWith(observed.Namespace)}
}

// read reads the wanted records of the list. If it fails, the caller reads the missing
// records one by one, and the error occurs there.
func (l recordList) read(ctx context.Context, client kubernetes.Interface, wanted []release.Inspection, into map[string]storage.Content) {
	left, namespaces := map[string]release.Inspection{}, map[string]bool{}
	namespace := metav1.NamespaceAll
	for _, of := range wanted {
		key := recordKey(of.Observed)
		if _, known := into[key]; !known {
			left[key] = of
			namespace, namespaces[of.Observed.Namespace] = of.Observed.Namespace, true
		}
	}
	if len(namespaces) > 1 {
		namespace = metav1.NamespaceAll
	}
	owned := labels.Set{wellknown.RecordOwner: wellknown.RecordOwnerHelm, storage.LabelInstance: l.instance}
	selector := labels.SelectorFromSet(owned).String() + "," + wellknown.RecordStatus + "!=" + string(release.StatusSuperseded)
	list := paging.List[corev1.Secret]{
		Limit: recordsAtOnce, Namespace: maxListedNamespace, Total: maxListed,
		Measure: func(secret corev1.Secret) paging.Object {
			return paging.Object{Namespace: secret.Namespace, Size: len(secret.Data[wellknown.RecordKey])}
		},
		Page: func(ctx context.Context, request paging.Request) ([]corev1.Secret, string, error) {
			page, err := client.CoreV1().Secrets(namespace).List(ctx, pageOptions(request, selector))
			if err != nil {
				return nil, "", err
			}
			return page.Items, page.Continue, nil
		},
	}
	_, _ = list.Each(ctx, func(secret corev1.Secret) error {
		key := secret.Namespace + "/" + secret.Name
		if of, is := left[key]; is {
			into[key] = storage.ContentOf(&secret, of)
			delete(left, key)
		}
		if len(left) == 0 {
			return errFound
		}
		return nil
	})
}

func readRecord(ctx context.Context, client kubernetes.Interface, of release.Inspection) storage.Content {
	observed := of.Observed
	name := storage.RecordName(observed.Release, observed.Revision)
	secret, err := client.CoreV1().Secrets(observed.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return storage.Content{Err: fmt.Errorf("reading revision %d of release %s: %w", observed.Revision, observed.Release, err)}
	}
	return storage.ContentOf(secret, of)
}

// keptBytes is the maximum size of all records that are kept after a write, on all clusters
// together. Kept records are not read again when their objects are inspected.
const keptBytes = 16 << 20

// RecordCache limits the memory for records that the clients of all clusters keep. The zero
// value is ready to use.
type RecordCache struct{ size atomic.Int64 }

// keep keeps the content of a record until the objects of the release are inspected.
func (r *recordReader) keep(written *helmrelease.Release) {
	kept := storage.RecordOf(written)
	size := kept.Size()
	key := written.Namespace + "/" + storage.RecordName(written.Name, written.Version)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cache.size.Add(size - r.kept[key].Size())
	r.kept[key] = kept
	if r.cache.size.Load() > keptBytes {
		r.cache.size.Add(-size)
		delete(r.kept, key)
	}
}

// justWritten returns a record that was kept.
func (r *recordReader) justWritten(observed release.Observed) (storage.Record, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept, ok := r.kept[recordKey(observed)]
	return kept, ok
}

// forget drops kept records.
func (r *recordReader) forget(records []release.Observed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, observed := range records {
		key := recordKey(observed)
		r.cache.size.Add(-r.kept[key].Size())
		delete(r.kept, key)
	}
}
