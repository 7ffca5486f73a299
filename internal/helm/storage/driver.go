// Package storage reads and writes Helm's release records: a driver of Helm's own storage, the format of
// records with its limits, the labels of this provider on them, and the codes that prove both.
package storage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	klabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/retry"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// recordTimeout is the minimum time during which a failed write of a record is tried again.
const recordTimeout = 5 * time.Second

// Driver extends Helm's own storage of release records for one operation. For example, a removal can
// keep the record and spare some objects.
type Driver struct {
	*driver.Secrets
	options Options
	// store is the client of the Secrets that records are written to.
	store corev1client.SecretInterface
	// secrets reads the metadata of these Secrets and deletes them. namespace is their
	// namespace.
	secrets   metadata.ResourceInterface
	namespace string
	// history are the records until the first write. Only the newest has its content. isRead
	// is true if history was read, also if there are no records.
	history []*helmrelease.Release
	isRead  bool
	// base is the manifest that Helm merges from if revisions have failed, and baseRevisions are those
	// that it was made of.
	base, baseRevisions string
	// pinned are the names of the records of these revisions. They are not pruned.
	pinned map[string]bool
	// stored contains the text of each record that was read, by revision. Helm gets other text.
	stored map[int]recordText
	// created is the name of the record of Revision.
	created string
	//nolint:containedctx // Helm's interface hands none on; the driver exists for one operation
	ctx context.Context

	// Deleted are the names of deleted records.
	Deleted []string
	// Revision is the newest revision that was created and not deleted.
	Revision int
	// Created is true if this operation created a record. Taken is true if a release of the
	// name exists already, which an install does not change.
	Created, Taken bool
	// Unread is the error of reading records, and Unwritten the error of updating one. When
	// Helm uninstalls, it treats the first like an empty history (pkg/action/uninstall.go).
	// When it has installed, it only logs the second (pkg/action/install.go, performInstall).
	Unread, Unwritten error
	// Untrusted is the *UntrustedRecordError of the record that a rollback was to return to.
	Untrusted error
}

// Options are what one operation needs of a driver.
type Options struct {
	// Masker hides the values of Secrets in records.
	Masker *mask.Masker
	// Checked are the documents that Helm may read.
	Checked *CheckedDocuments
	// Serves reports whether the cluster serves a kind.
	Serves func(kind schema.GroupVersionKind) (bool, error)
	// By is the target that reads and writes the records.
	By release.Claimant
	// Newest is the newest revision when the cluster was observed, 0 if there was none.
	Newest int
	// Until is the end of the operation's timeout.
	Until time.Time
	// Create is called before a record is created, and can change it. Its error ends the operation.
	Create func(record *helmrelease.Release) error
	// Removal is nil for an operation that removes nothing.
	Removal *Removal
}

// Removal is how a release is removed.
type Removal struct {
	// Check returns an error if the newest record of a release is not the expected one.
	Check func(newest release.Observed) error
	// Edit writes the manifest of the objects that are deleted into each record that was read.
	Edit func(record *helmrelease.Release) error
	// Hold returns an error as long as records must not be deleted. Helm deletes the record of
	// a release even if the deletion of its objects was not confirmed. The remaining objects
	// would then have no owner.
	Hold func() error
}

// UntrustedRecordError reports that a release record is not proven to be as this provider wrote it.
// No rollback to the record was done, and none of its hooks ran.
type UntrustedRecordError struct {
	// Name is the name of the Secret.
	Name string
}

func (e *UntrustedRecordError) Error() string {
	return fmt.Sprintf("the release record %s is not as this provider wrote it, so its content is not used", e.Name)
}

// NewDriver makes the driver of one operation on a namespace. records has the Secrets of the namespace,
// and metadata their metadata.
func NewDriver(
	ctx context.Context, records corev1client.SecretInterface, metadata metadata.ResourceInterface, namespace string, options Options,
) *Driver {
	return &Driver{
		Secrets: driver.NewSecrets(boundedSecrets{records}), options: options, store: records, secrets: metadata, namespace: namespace, ctx: ctx,
	}
}

// Create creates a record. Helm reads its hooks from the record after that. Each revision of an
// install, an upgrade or a rollback is created here, before its hooks and objects.
func (d *Driver) Create(key string, record *helmrelease.Release) error {
	d.history, d.isRead = nil, false
	collectSecretsOfRecord(d.options.Masker, record)
	if err := d.options.Create(record); err != nil {
		return err
	}
	record.Labels = d.provenLabels(record)
	secret, err := d.secretOf(key, record, recordCreatedAt)
	if err != nil {
		return err
	}
	if _, err := d.store.Create(context.WithoutCancel(d.ctx), secret, metav1.CreateOptions{}); err != nil {
		if apierrors.IsAlreadyExists(err) {
			return driver.ErrReleaseExists
		}
		return fmt.Errorf("creating release record %s: %w", key, err)
	}
	d.Created, d.Revision, d.created = true, record.Version, key
	return nil
}

// secretOf returns the Secret of a record. Before it is sent, its content is added to the masker: it
// contains the values of all Secrets of the release.
func (d *Driver) secretOf(key string, record *helmrelease.Release, stamp string) (*corev1.Secret, error) {
	secret, err := secretOfRecord(key, record, stamp, time.Now())
	if err == nil {
		d.options.Masker.Add(string(secret.Data[wellknown.RecordKey]))
	}
	return secret, err
}

// provenLabels returns the labels of a new record. Helm copies the labels of another revision, and a
// mark counts only for the revision that it names.
func (d *Driver) provenLabels(record *helmrelease.Release) map[string]string {
	made := ObservedOf(record)
	made.Mark.Revision = record.Version
	made.Content = RecordOf(record).Code(d.options.By.Proof, made)
	labels := map[string]string{}
	maps.Copy(labels, record.Labels)
	maps.Copy(labels, ProvenLabels(made, d.options.By.Proof))
	return labels
}

// Trusts reports whether the labels and the content of a record are proven.
func (d *Driver) Trusts(record *helmrelease.Release) bool {
	observed := ObservedOf(record)
	proof, isProven := d.options.By.ProofOf(observed)
	return isProven && RecordOf(d.AsStored(record)).Matches(proof, observed)
}

// distrust takes the content out of a record that is not proven. Helm then merges, deletes and runs
// nothing of it, and checks the owner of each object that exists.
func (d *Driver) distrust(record *helmrelease.Release) {
	if !d.Trusts(record) {
		record.Manifest, record.Hooks = "", nil
	}
}

// Get reads one record for Helm. After Helm has created a revision, it reads single records only to
// roll back to them.
func (d *Driver) Get(key string) (*helmrelease.Release, error) {
	record, err := d.get(key)
	if err != nil {
		return nil, err
	}
	collectSecretsOfRecord(d.options.Masker, record)
	if d.Created && !d.Trusts(record) {
		d.Untrusted = &UntrustedRecordError{Name: key}
		return nil, d.Untrusted
	}
	return record, nil
}

// get reads a record. On a record that it cannot decode, Helm panics
// (pkg/storage/driver/secrets.go). It does so also in goroutines where no caller can recover.
func (d *Driver) get(key string) (record *helmrelease.Release, err error) {
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
		err = RecordOf(record).checkObjects(key)
	}
	if err == nil {
		d.rewrite(record)
	}
	return record, err
}

// recordText is the text of a record that takes effect.
type recordText struct {
	manifest string
	// objects are those of the manifest, none if it cannot be read.
	objects []*unstructured.Unstructured
	hooks   []*helmrelease.Hook
}

// rewrite replaces the text of a record that was read by text that was written from its objects:
// Helm would not read every text as we do. Text that cannot be read has no objects.
func (d *Driver) rewrite(record *helmrelease.Release) {
	if d.stored == nil {
		d.stored = map[int]recordText{}
	}
	objects, err := SingleObjects(record.Manifest)
	if err != nil {
		objects = nil
	}
	d.stored[record.Version] = recordText{manifest: record.Manifest, objects: objects, hooks: record.Hooks}
	record.Manifest = ""
	if d.options.Removal == nil {
		record.Manifest = d.options.Checked.WriteManifest(objects)
	}
	hooks := make([]*helmrelease.Hook, len(record.Hooks))
	for i, hook := range record.Hooks {
		rewritten := *hook
		rewritten.Manifest = d.options.Checked.RewriteHook(hook.Manifest)
		hooks[i] = &rewritten
	}
	record.Hooks = hooks
}

// AsStored returns a record with the text that it is stored with. A removal that is tried again must
// find the original record.
func (d *Driver) AsStored(record *helmrelease.Release) *helmrelease.Release {
	text, isRead := d.stored[record.Version]
	if !isRead {
		return record
	}
	stored := *record
	stored.Manifest, stored.Hooks = text.manifest, text.hooks
	return &stored
}

// isSound reports whether a record belongs to the release that it is stored for and is
// complete. Helm uses the name, the namespace and the revision in the record, and does not
// check the other fields.
func (d *Driver) isSound(key string, record *helmrelease.Release) bool {
	return record.Info != nil && record.Chart != nil && record.Chart.Metadata != nil && !slices.Contains(record.Hooks, nil) &&
		RecordName(record.Name, record.Version) == key && record.Namespace == d.namespace
}

// Delete deletes a record. It returns an error if the removal has to keep its records. A pinned record
// stays, without an error. Helm's own Delete reads the record first.
func (d *Driver) Delete(key string) (*helmrelease.Release, error) {
	if d.options.Removal != nil {
		if err := d.options.Removal.Hold(); err != nil {
			return nil, fmt.Errorf("keeping the release record %s: %w", key, err)
		}
	}
	if d.pinned[key] {
		return nil, nil // Helm prunes the history, and ignores the record.
	}
	d.history, d.isRead = nil, false
	isTemporary := func(err error) bool { return !IsRejected(err) || apierrors.IsTooManyRequests(err) }
	err := retry.While(d.ctx, retry.Record().Within(recordTimeout), isTemporary, func() error {
		err := d.secrets.Delete(context.WithoutCancel(d.ctx), key, metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) {
			return nil // It was deleted with its namespace, or the answer to an earlier try was lost.
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	d.Deleted = append(d.Deleted, key)
	if d.created == key {
		d.Revision = 0
	}
	return nil, nil
}

// Update changes a record. It always writes the whole record, so that it can be tried again.
// If a record cannot be written, the operation of a working release looks interrupted.
func (d *Driver) Update(key string, record *helmrelease.Release) error {
	d.history, d.isRead = nil, false
	record = d.AsStored(record)
	secret, err := d.secretOf(key, record, recordModifiedAt)
	if err != nil {
		d.Unwritten = err
		return err
	}
	isTemporary := func(err error) bool {
		return !IsRejected(err) || apierrors.IsTooManyRequests(err) || apierrors.IsConflict(err)
	}
	policy := retry.Record().Within(max(recordTimeout, time.Until(d.options.Until)))
	d.Unwritten = retry.While(d.ctx, policy, isTemporary, func() error {
		if _, err := d.store.Update(context.WithoutCancel(d.ctx), secret, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("updating release record %s: %w", key, err)
		}
		return nil
	})
	return d.Unwritten
}

// IsRejected reports whether an API server refused an object because of its content. Another
// try without a change would also fail.
func IsRejected(err error) bool {
	var answer apierrors.APIStatus
	return errors.As(err, &answer) && answer.Status().Code >= http.StatusBadRequest && answer.Status().Code < http.StatusInternalServerError
}

// isNameInUse reports whether the newest record prevents the installation of a release
// (helm.sh/helm/v3, pkg/action/install.go, availableName).
func isNameInUse(records []*helmrelease.Release) bool {
	newest := slices.MaxFunc(records, byRevision)
	return newest.Info.Status != helmrelease.StatusUninstalled && newest.Info.Status != helmrelease.StatusFailed
}

// Query reads the records of a release. Older records have no content: a record contains the
// whole chart, and Helm reads all records, some of them twice. A query for a status returns
// complete records, because Helm may write them again.
func (d *Driver) Query(labels map[string]string) ([]*helmrelease.Release, error) {
	records, err := d.query(labels[wellknown.RecordName], labels[wellknown.RecordStatus])
	if err == nil || len(d.history) == 0 && errors.Is(err, driver.ErrReleaseNotFound) {
		return records, err
	}
	d.history, d.isRead = nil, false
	if !errors.Is(err, driver.ErrReleaseNotFound) {
		d.Unread = err
	}
	return nil, err
}

// PrefetchHistory reads the history of a release before the first query. If that fails, the
// query reads it again.
func (d *Driver) PrefetchHistory(name string) { _ = d.loadHistory(name) }

// loadHistory reads the history unless it was read already.
func (d *Driver) loadHistory(name string) error {
	if d.isRead {
		return nil
	}
	if err := d.read(name); err != nil {
		return err
	}
	d.isRead, d.Taken = true, len(d.history) > 0 && isNameInUse(d.history)
	return nil
}

func (d *Driver) query(name, status string) ([]*helmrelease.Release, error) {
	if err := d.loadHistory(name); err != nil {
		return nil, err
	}
	if len(d.history) == 0 {
		return nil, driver.ErrReleaseNotFound
	}
	if status == "" {
		newest := slices.MaxFunc(d.history, byRevision)
		if err := d.fill(newest); err != nil {
			return nil, err
		}
		return slices.Clone(d.history), d.rebase(newest)
	}
	isOther := func(record *helmrelease.Release) bool { return record.Info.Status.String() != status }
	records := slices.DeleteFunc(slices.Clone(d.history), isOther)
	for _, record := range records {
		if err := d.fill(record); err != nil {
			return nil, err
		}
	}
	if len(records) == 0 {
		return nil, driver.ErrReleaseNotFound
	}
	return records, d.rebase(records...)
}

func byRevision(a, b *helmrelease.Release) int { return a.Version - b.Version }

// read reads the history of a release. If the newest revision is known, it also reads the
// content of that record.
func (d *Driver) read(name string) error {
	ctx := context.WithoutCancel(d.ctx)
	var (
		reading errgroup.Group
		list    *metav1.PartialObjectMetadataList
		newest  *helmrelease.Release
		unread  error
	)
	reading.Go(panics.Recovering("listing release records", func() (err error) {
		selector := klabels.SelectorFromSet(klabels.Set{wellknown.RecordOwner: wellknown.RecordOwnerHelm, wellknown.RecordName: name}).String()
		list, err = d.secrets.List(ctx, metav1.ListOptions{LabelSelector: selector})
		return err
	}))
	if d.options.Newest > 0 {
		reading.Go(panics.Recovering("reading a release record", func() error {
			newest, unread = d.listed(RecordName(name, d.options.Newest))
			return nil // The result counts only if this is still the newest record.
		}))
	}
	if err := reading.Wait(); err != nil {
		return fmt.Errorf("listing the records of release %s: %w", name, err)
	}
	d.history = nil
	for i := range list.Items {
		item := &list.Items[i]
		seen := Observe(item)
		d.history = append(d.history, &helmrelease.Release{
			Name: name, Namespace: item.Namespace, Version: seen.Revision, Labels: item.Labels,
			Info: &helmrelease.Info{Status: helmrelease.Status(seen.Status)},
		})
	}
	if len(d.history) == 0 {
		return nil
	}
	if d.options.Removal != nil {
		if err := d.options.Removal.Check(release.Newest(d.observedHistory())); err != nil {
			return err
		}
	}
	last := slices.MaxFunc(d.history, byRevision)
	switch {
	case last.Version != d.options.Newest:
		return nil
	case unread != nil:
		return unread
	}
	return d.put(last, newest)
}

// fill reads the content of a record unless that was done.
func (d *Driver) fill(record *helmrelease.Release) error {
	if record.Chart != nil {
		return nil
	}
	full, err := d.listed(RecordName(record.Name, record.Version))
	if err != nil {
		return err
	}
	return d.put(record, full)
}

// listed reads a record that is in a list. If the record is missing, Helm would treat the
// release as removed. But any Secret can have the labels of a record.
func (d *Driver) listed(key string) (*helmrelease.Release, error) {
	record, err := d.get(key)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return nil, fmt.Errorf("a list of release records contains %s, and no Secret of that name exists", key)
	}
	return record, err
}

// put copies the content of full into record.
func (d *Driver) put(record, full *helmrelease.Release) error {
	full.Labels = record.Labels // All labels, as in Helm's own lists.
	collectSecretsOfRecord(d.options.Masker, full)
	if d.options.Removal == nil {
		d.distrust(full)
	} else if err := d.options.Removal.Edit(full); err != nil {
		return fmt.Errorf("reading the manifest of release %s: %w", full.Name, err)
	}
	*record = *full
	return nil
}
