package helm

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/sync/errgroup"
	helmrelease "helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// recordContent is what a release record holds: the objects of the release, and its hooks.
type recordContent struct {
	objects, hooks []*unstructured.Unstructured
	// chart and version are those of the chart.
	chart, version string
	// content is a digest of the manifest and the hooks, see record.content.
	content string
	// err is why the record could not be read.
	err error
}

// Inspect says of releases what their objects are like on the cluster.
func (c *Client) Inspect(ctx context.Context, releases []release.Inspection) ([]release.Finding, error) {
	observed := make([]release.Observed, len(releases))
	for i := range releases {
		observed[i] = releases[i].Observed
	}
	var discovering sync.WaitGroup
	discovering.Go(c.discover)
	read, err := c.contents(ctx, observed)
	discovering.Wait()
	if err != nil {
		return nil, err
	}
	defer c.drop(observed)
	findings := make([]release.Finding, len(releases))
	var (
		looked  []release.Inspection
		objects [][]*unstructured.Unstructured
		places  []int
	)
	for i, manifest := range read {
		if findings[i].Err = manifest.err; manifest.err != nil {
			continue
		}
		looked, objects, places = append(looked, releases[i]), append(objects, manifest.objects), append(places, i)
	}
	for i, finding := range c.objects.Inspect(ctx, looked, objects) {
		finding.Content = read[places[i]].content
		findings[places[i]] = finding
	}
	return findings, nil
}

// Await returns when the objects of a release are ready, or ctx ends, and tells what is
// missing or not ready then. A cluster that does not answer is asked until ctx ends.
func (c *Client) Await(ctx context.Context, of release.Inspection) (finding release.Finding, err error) {
	const longest = 2 * time.Second
	pauses := backoff.NewExponentialBackOff()
	pauses.MaxInterval = longest
	for first := true; ; first = false {
		found, failure := c.await(ctx, of)
		if first || ctx.Err() == nil || failure == nil {
			finding, err = found, failure
		}
		if ctx.Err() != nil || err == nil && finding.Settled() {
			return finding, err
		}
		select {
		case <-ctx.Done():
			return finding, err
		case <-time.After(pauses.NextBackOff()):
		}
	}
}

func (c *Client) await(ctx context.Context, of release.Inspection) (release.Finding, error) {
	read, err := c.contents(ctx, []release.Observed{of.Observed})
	if err != nil {
		return release.Finding{}, err
	}
	if read[0].err != nil {
		return release.Finding{}, read[0].err
	}
	finding, err := c.objects.Await(ctx, of, read[0].objects)
	finding.Content = read[0].content
	if finding.Settled() && slices.ContainsFunc(read[0].objects, func(o *unstructured.Unstructured) bool { return manifest.ChangesKinds(o.GetKind()) }) {
		c.forgetKinds() // Nobody waited for them when they were written.
	}
	return finding, err
}

const (
	// listedFrom is the number of records from which on a list is cheaper than one
	// request for each. It brings the older revisions as well.
	listedFrom = 4
	// recordsAtOnce is how many records are in memory at once: each holds a chart.
	recordsAtOnce = 20
	// readsAtOnce is how many requests for single records are under way.
	readsAtOnce = 8
)

// contents reads what releases are made of from their records. Those of one holder
// take a list of its records, page by page; what the list lacks, one request each.
func (c *Client) contents(ctx context.Context, wanted []release.Observed) ([]recordContent, error) {
	client, err := c.factory.KubernetesClientSet()
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	found := make([]recordContent, len(wanted))
	listed := map[string]recordContent{}
	byInstance := map[string]int{}
	for _, observed := range wanted {
		if kept, ok := c.justWritten(observed); ok {
			listed[recordKey(observed)] = parseRecord(kept, recordName(observed.Release, observed.Revision))
			continue
		}
		byInstance[observed.Mark.Instance]++
	}
	for instance, number := range byInstance {
		if instance != "" && number >= listedFrom {
			listRecords(ctx, client, instance, wanted, listed)
		}
	}
	var reading errgroup.Group
	reading.SetLimit(readsAtOnce)
	for i, observed := range wanted {
		if known, ok := listed[recordKey(observed)]; ok {
			found[i] = known
			continue
		}
		reading.Go(func() error {
			found[i] = readRecord(ctx, client, observed)
			return nil
		})
	}
	_ = reading.Wait() // Each answer carries its own error.
	return found, nil
}

func recordKey(observed release.Observed) string {
	return observed.Namespace + "/" + recordName(observed.Release, observed.Revision)
}

// listRecords reads the records of one holder. It is a shortcut: when it fails, what
// it has not found is read one by one, and an error shows there.
func listRecords(ctx context.Context, client kubernetes.Interface, instance string, wanted []release.Observed, into map[string]recordContent) {
	left, namespaces := map[string]bool{}, map[string]bool{}
	namespace := metav1.NamespaceAll
	for _, observed := range wanted {
		key := recordKey(observed)
		if _, known := into[key]; !known && observed.Mark.Instance == instance {
			left[key] = true
			namespace, namespaces[observed.Namespace] = observed.Namespace, true
		}
	}
	if len(namespaces) > 1 {
		namespace = metav1.NamespaceAll
	}
	selector := labels.SelectorFromSet(labels.Set{manifest.LabelOwner: manifest.Owner, labelInstance: instance}).String() +
		"," + labelStatus + "!=" + string(release.StatusSuperseded)
	options := metav1.ListOptions{LabelSelector: selector, Limit: recordsAtOnce}
	for len(left) > 0 {
		page, err := client.CoreV1().Secrets(namespace).List(ctx, options)
		if err != nil {
			return
		}
		for _, secret := range page.Items {
			key := secret.Namespace + "/" + secret.Name
			if left[key] {
				into[key] = recordContentOf(&secret)
				delete(left, key)
			}
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return
		}
	}
}

func readRecord(ctx context.Context, client kubernetes.Interface, observed release.Observed) recordContent {
	name := recordName(observed.Release, observed.Revision)
	secret, err := client.CoreV1().Secrets(observed.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return recordContent{err: fmt.Errorf("reading revision %d of release %s: %w", observed.Revision, observed.Release, err)}
	}
	return recordContentOf(secret)
}

// recordContentOf reads the manifest in a record and nothing else of it: Helm's own way
// decodes the chart too, and panics on what it cannot decode.
func recordContentOf(secret *corev1.Secret) recordContent {
	packed := secret.Data["release"]
	size, err := checkRecord(secret.Name, packed)
	if err != nil {
		return recordContent{err: err}
	}
	if size > large {
		readingLarge.Lock()
		defer readingLarge.Unlock()
	}
	recorded, err := decodeRecord(packed)
	if err != nil {
		return recordContent{err: &release.CorruptRecordError{Name: secret.Name}}
	}
	if err := recorded.checkObjects(secret.Name); err != nil {
		return recordContent{err: err}
	}
	return parseRecord(recorded, secret.Name)
}

// parseRecord reads the objects in a record; name is that of the record.
func parseRecord(recorded record, name string) recordContent {
	read := recordContent{chart: recorded.Chart.Metadata.Name, version: recorded.Chart.Metadata.Version, content: recorded.content()}
	var err error
	if read.objects, err = singleObjects(recorded.Manifest); err != nil {
		return recordContent{err: fmt.Errorf("reading the manifest in the release record %s: %w", name, err)}
	}
	for _, hook := range recorded.Hooks {
		objects, err := singleObjects(hook.Manifest)
		if err != nil {
			return recordContent{err: fmt.Errorf("reading a hook in the release record %s: %w", name, err)}
		}
		read.hooks = append(read.hooks, objects...)
	}
	return read
}

// singleObjects reads the objects of a manifest, those of a list one by one.
func singleObjects(stream string) ([]*unstructured.Unstructured, error) {
	parsed, err := manifest.Parse([]byte(stream))
	if err != nil {
		return nil, err
	}
	return manifest.Flatten(parsed), nil
}

// keptBytes is how much of what was just written is kept, on all clusters together, so
// that it need not be read again to look at its objects.
const keptBytes = 16 << 20

// RecordCache bounds what the clients of all clusters keep of records together. The zero
// value is ready.
type RecordCache struct{ size atomic.Int64 }

// keep keeps what a record holds until its objects are looked at.
func (c *Client) keep(written *helmrelease.Release) {
	kept := recordOf(written)
	size := kept.size()
	key := written.Namespace + "/" + recordName(written.Name, written.Version)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cache.size.Add(size - c.kept[key].size())
	c.kept[key] = kept
	if c.cache.size.Load() > keptBytes {
		c.cache.size.Add(-size)
		delete(c.kept, key)
	}
}

// discover reads the kinds of the cluster ahead of their use, unless that was done.
// Whoever uses them meets an error again.
func (c *Client) discover() {
	if client, err := c.getter.ToDiscoveryClient(); err == nil {
		_, _ = client.ServerGroups()
	}
}

// justWritten is what was kept.
func (c *Client) justWritten(observed release.Observed) (record, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept, ok := c.kept[recordKey(observed)]
	return kept, ok
}

// drop lets go of what was kept of records.
func (c *Client) drop(records []release.Observed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, observed := range records {
		key := recordKey(observed)
		c.cache.size.Add(-c.kept[key].size())
		delete(c.kept, key)
	}
}

func (r record) size() int64 {
	size := len(r.Manifest)
	for _, hook := range r.Hooks {
		size += len(hook.Manifest)
	}
	return int64(size)
}

// decodeRecord decodes a record: base64 of gzip of JSON (helm.sh/helm/v3,
// pkg/storage/driver/util.go). The caller has checked how large it gets.
func decodeRecord(packed []byte) (record, error) {
	reader, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(packed)))
	if err != nil {
		return record{}, err
	}
	var content record
	if err := json.NewDecoder(reader).Decode(&content); err != nil {
		return record{}, err
	}
	return content, reader.Close()
}
