package helm

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	klabels "k8s.io/apimachinery/pkg/labels"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/retry"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// recordTimeout is how long a record is tried to be written, at least.
const recordTimeout = 5 * time.Second

// recordDriver is Helm's own storage of release records, in which a removal
// can hold on to the record and leave objects alone.
type recordDriver struct {
	*driver.Secrets
	// store has the Secrets that records are written to.
	store corev1client.SecretInterface
	// secrets reads their metadata and deletes them. namespace is where they are.
	secrets   metadata.ResourceInterface
	namespace string
	// newest is the revision that was the newest when the cluster was looked at, 0 if
	// there was none.
	newest int
	// history are the records, the newest with what it contains, as long as nothing was
	// written. isRead distinguishes that from no records.
	history []*helmrelease.Release
	isRead  bool
	// until is when the time of the operation is over.
	until time.Time
	// hold refuses to delete records while it returns an error. Helm deletes
	// the record of a release even if its objects were not seen to go, and
	// what is left would then belong to nobody.
	hold func() error
	// check refuses the history of a release by its newest record.
	check func(newest release.Observed) error
	// edit changes records as they are read.
	edit func(record *helmrelease.Release) error
	// unedited is the record that was changed by edit, as it is stored.
	unedited *helmrelease.Release
	// masker hides the values of Secrets in records.
	masker *diff.Masker
	// deleted are records that are gone.
	deleted []string
	// before is asked before a record is made, and accept before one is handed to Helm
	// alone. Their errors end the operation.
	before func() error
	accept func(record *helmrelease.Release) error
	// rendered is the chart that Helm is given. Its records contain the one that it was
	// rendered from.
	rendered render.Chart
	// content is the digest of what is in the newest record that was made.
	content string
	// created says that a record was made, and was not there before, taken that there
	// is a release of the name, which an install does not touch.
	created, taken bool
	//nolint:containedctx // Helm's interface hands none on; the driver lives for one operation
	ctx context.Context
	// unread is what reading records failed with, and unwritten what changing one
	// did. Helm takes the first for an empty history when it uninstalls
	// (pkg/action/uninstall.go), and logs the second when it has installed
	// (pkg/action/install.go, performInstall).
	unread, unwritten error
}

// Create makes a record. Every revision goes through here before its hooks and objects:
// of an install, an upgrade and a rollback.
func (d *recordDriver) Create(key string, record *helmrelease.Release) error {
	d.history, d.isRead = nil, false
	collectSecretsOfRecord(d.masker, record)
	if d.before != nil {
		if err := d.before(); err != nil {
			return err
		}
	}
	if err := refuseRecordHooks(record.Hooks, record.Namespace); err != nil {
		return err
	}
	if record.Chart == d.rendered.Rendered { // Not that of a rollback.
		record.Chart = d.rendered.Recorded
	}
	labels := map[string]string{}
	maps.Copy(labels, record.Labels)
	// Helm copies the labels of another revision. Each revision has a salt of its own, and
	// the mark counts for the revision that it says it was made for.
	labels[labelSalt] = rand.Text()
	if labels[labelMarkedBy] != "" {
		labels[labelRevision] = strconv.Itoa(record.Version)
	}
	record.Labels = labels
	secret, err := secretOfRecord(key, record, recordCreatedAt, time.Now())
	if err != nil {
		return err
	}
	if _, err := d.store.Create(context.WithoutCancel(d.ctx), secret, metav1.CreateOptions{}); err != nil {
		if apierrors.IsAlreadyExists(err) {
			return driver.ErrReleaseExists
		}
		return fmt.Errorf("creating release record %s: %w", key, err)
	}
	d.created, d.content = true, recordOf(record).content()
	return nil
}

// Get reads a record for Helm, which reads single ones to roll back to them.
func (d *recordDriver) Get(key string) (*helmrelease.Release, error) {
	record, err := d.get(key)
	if err == nil {
		collectSecretsOfRecord(d.masker, record)
	}
	if err == nil && d.accept != nil {
		err = d.accept(record)
	}
	return record, err
}

// get reads a record. Helm panics on one that it cannot decode
// (pkg/storage/driver/secrets.go), also in goroutines where nobody can catch it.
func (d *recordDriver) get(key string) (record *helmrelease.Release, err error) {
	defer func() {
		if recover() != nil {
			record, err = nil, &release.CorruptRecordError{Name: key}
		}
	}()
	record, err = d.Secrets.Get(key)
	if err == nil && !d.isSound(key, record) {
		return nil, &release.CorruptRecordError{Name: key}
	}
	if err == nil {
		err = recordOf(record).checkObjects(key)
	}
	return record, err
}

// isSound says whether a record is of the release that it is stored for: Helm goes by the
// name, the namespace and the revision in it, and takes for granted that the rest is there.
func (d *recordDriver) isSound(key string, record *helmrelease.Release) bool {
	return record.Info != nil && record.Chart != nil && record.Chart.Metadata != nil && !slices.Contains(record.Hooks, nil) &&
		recordName(record.Name, record.Version) == key && record.Namespace == d.namespace
}

// Delete deletes the record unless it is held. Helm's own reads it before.
func (d *recordDriver) Delete(key string) (*helmrelease.Release, error) {
	if d.hold != nil {
		if err := d.hold(); err != nil {
			return nil, fmt.Errorf("keeping the release record %s: %w", key, err)
		}
	}
	d.history, d.isRead = nil, false
	err := d.secrets.Delete(context.WithoutCancel(d.ctx), key, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		err = nil // It went with its namespace, if that was one of the objects.
	}
	if err == nil {
		d.deleted = append(d.deleted, key)
	}
	return nil, err
}

// Update changes a record. It says always the whole of it, so that it can be said
// again: a record that cannot be written makes a release that works look as if its
// operation had been cut short.
func (d *recordDriver) Update(key string, record *helmrelease.Release) error {
	d.history, d.isRead = nil, false
	if d.unedited != nil && d.unedited.Version == record.Version {
		// A removal that is tried again must find what it found before.
		stored := *record
		stored.Manifest, stored.Hooks = d.unedited.Manifest, d.unedited.Hooks
		record = &stored
	}
	secret, err := secretOfRecord(key, record, recordModifiedAt, time.Now())
	if err != nil {
		d.unwritten = err
		return err
	}
	_, d.unwritten = retry.Do(d.ctx, retry.Record().Within(max(recordTimeout, time.Until(d.until))), func() (struct{}, error) {
		_, err := d.store.Update(context.WithoutCancel(d.ctx), secret, metav1.UpdateOptions{})
		if err != nil {
			err = fmt.Errorf("updating release record %s: %w", key, err)
		}
		if isRejected(err) && !apierrors.IsTooManyRequests(err) && !apierrors.IsConflict(err) {
			err = retry.Permanent(err)
		}
		return struct{}{}, err
	})
	return d.unwritten
}

// isNameInUse says whether the newest record keeps a release from being installed
// (helm.sh/helm/v3, pkg/action/install.go, availableName).
func isNameInUse(records []*helmrelease.Release) bool {
	newest := slices.MaxFunc(records, byRevision)
	return newest.Info.Status != helmrelease.StatusUninstalled && newest.Info.Status != helmrelease.StatusFailed
}

// Query reads the records of a release, the older ones without what they hold: a
// record has the whole chart in it, and Helm reads all of them, some twice. Those of a
// status are complete, as Helm may write them again.
func (d *recordDriver) Query(labels map[string]string) ([]*helmrelease.Release, error) {
	records, err := d.query(labels[wellknown.RecordName], labels[wellknown.RecordStatus])
	if err == nil || len(d.history) == 0 && errors.Is(err, driver.ErrReleaseNotFound) {
		return records, err
	}
	d.history, d.isRead = nil, false
	if !errors.Is(err, driver.ErrReleaseNotFound) {
		d.unread = err
	}
	return nil, err
}

// prefetchHistory reads the history of a release ahead of the first query. One that fails asks
// again.
func (d *recordDriver) prefetchHistory(name string) { _ = d.loadHistory(name) }

// loadHistory reads the history unless it is known.
func (d *recordDriver) loadHistory(name string) error {
	if d.isRead {
		return nil
	}
	if err := d.read(name); err != nil {
		return err
	}
	d.isRead, d.taken = true, len(d.history) > 0 && isNameInUse(d.history)
	return nil
}

func (d *recordDriver) query(name, status string) ([]*helmrelease.Release, error) {
	if err := d.loadHistory(name); err != nil {
		return nil, err
	}
	if len(d.history) == 0 {
		return nil, driver.ErrReleaseNotFound
	}
	if status == "" {
		return slices.Clone(d.history), d.fill(slices.MaxFunc(d.history, byRevision))
	}
	records := slices.DeleteFunc(slices.Clone(d.history), func(record *helmrelease.Release) bool { return record.Info.Status.String() != status })
	for _, record := range records {
		if err := d.fill(record); err != nil {
			return nil, err
		}
	}
	if len(records) == 0 {
		return nil, driver.ErrReleaseNotFound
	}
	return records, nil
}

// newestOf describes the newest of some records of one release.
func newestOf(records []metav1.PartialObjectMetadata) release.Observed {
	var newest release.Observed
	for i := range records {
		if seen := observe(&records[i]); i == 0 || seen.Revision > newest.Revision {
			newest = seen
		}
	}
	return newest
}

func byRevision(a, b *helmrelease.Release) int { return a.Version - b.Version }

// read reads the history of a release, and what is in its newest record if it is known
// which that is.
func (d *recordDriver) read(name string) error {
	ctx := context.WithoutCancel(d.ctx)
	var (
		reading errgroup.Group
		list    *metav1.PartialObjectMetadataList
		newest  *helmrelease.Release
		unread  error
	)
	reading.Go(status.Recovering("listing release records", func() (err error) {
		selector := klabels.SelectorFromSet(klabels.Set{wellknown.RecordOwner: wellknown.RecordOwnerHelm, wellknown.RecordName: name}).String()
		list, err = d.secrets.List(ctx, metav1.ListOptions{LabelSelector: selector})
		return err
	}))
	if d.newest > 0 {
		reading.Go(status.Recovering("reading a release record", func() error {
			newest, unread = d.listed(recordName(name, d.newest))
			return nil // It counts only if this is still the newest.
		}))
	}
	if err := reading.Wait(); err != nil {
		return fmt.Errorf("listing the records of release %s: %w", name, err)
	}
	d.history = nil
	for i := range list.Items {
		item := &list.Items[i]
		seen := observe(item)
		d.history = append(d.history, &helmrelease.Release{
			Name: name, Namespace: item.Namespace, Version: seen.Revision, Labels: item.Labels, Info: &helmrelease.Info{Status: helmrelease.Status(seen.Status)},
		})
	}
	if len(d.history) == 0 {
		return nil
	}
	if d.check != nil {
		if err := d.check(newestOf(list.Items)); err != nil {
			return err
		}
	}
	last := slices.MaxFunc(d.history, byRevision)
	switch {
	case last.Version != d.newest:
		return nil
	case unread != nil:
		return unread
	}
	return d.put(last, newest)
}

// fill reads what is in a record unless that was done.
func (d *recordDriver) fill(record *helmrelease.Release) error {
	if record.Chart != nil {
		return nil
	}
	full, err := d.listed(recordName(record.Name, record.Version))
	if err != nil {
		return err
	}
	return d.put(record, full)
}

// listed reads a record that a list has named. Helm would take one that is not there for
// a release that is gone; a Secret with the labels of a record can have any name.
func (d *recordDriver) listed(key string) (*helmrelease.Release, error) {
	record, err := d.get(key)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return nil, fmt.Errorf("a list of release records contains %s, and no Secret of that name exists", key)
	}
	return record, err
}

// put completes a record.
func (d *recordDriver) put(record, full *helmrelease.Release) error {
	full.Labels = record.Labels // All of them, as in what Helm lists.
	collectSecretsOfRecord(d.masker, full)
	if d.edit != nil {
		d.unedited = &helmrelease.Release{Version: full.Version, Manifest: full.Manifest, Hooks: full.Hooks}
		if err := d.edit(full); err != nil {
			return fmt.Errorf("reading the manifest of release %s: %w", full.Name, err)
		}
	}
	*record = *full
	return nil
}
