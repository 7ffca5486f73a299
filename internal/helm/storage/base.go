package storage

import (
	"fmt"
	"slices"

	helmrelease "helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// MaxBase is the maximum size of the manifests that one revision is merged from, in bytes.
const MaxBase = 4 * manifest.MaxSize

// BaseTooLarge is the error that the manifests of failed revisions are too large to be merged from.
func BaseTooLarge(of release.Observed) error {
	return fmt.Errorf("the manifests of the revisions of release %s in namespace %s that have failed take more than %d MiB together; "+
		"run helm rollback %[1]s --namespace %[2]s, and apply with the deployment in take_ownership_of", of.Release, of.Namespace, MaxBase>>20)
}

// mergeBase reads what the objects of a release on the cluster can come from.
type mergeBase struct {
	records *Driver
	// serves reports whether the cluster serves a kind.
	serves func(kind schema.GroupVersionKind) (bool, error)
	// manifest is the manifest that Helm merges from, and revisions are those that it was made of.
	manifest, revisions string
	// pinned are the names of the records of these revisions. They are not pruned.
	pinned map[string]bool
}

// rebase gives records that Helm merges from the objects of all revisions that objects on the cluster
// can come from. Helm itself merges from the last deployed revision alone, and never removes what a
// failed one has added (pkg/action/upgrade.go, prepareUpgrade).
func (b *mergeBase) rebase(records ...*helmrelease.Release) error {
	base := release.Base(b.history())
	if b.records.Removes || len(base) < 2 {
		return nil
	}
	b.pinned = map[string]bool{}
	for _, revision := range release.Distinct(base) {
		b.pinned[RecordName(revision.Release, revision.Revision)] = true
	}
	if err := b.write(base); err != nil {
		return err
	}
	for _, record := range records {
		if slices.ContainsFunc(base, func(of release.Observed) bool { return of.Revision == record.Version }) {
			record.Manifest = b.manifest
		}
	}
	return nil
}

// write writes the manifest that Helm merges from, unless that was done for the same revisions.
func (b *mergeBase) write(base []release.Observed) error {
	revisions := fmt.Sprint(base)
	if b.revisions == revisions {
		return nil
	}
	objects, err := b.objects(nil)
	if err != nil {
		return err
	}
	if objects, err = b.served(objects); err != nil {
		return err
	}
	if b.manifest, err = b.records.checked.Write(objects); err != nil {
		return fmt.Errorf("writing the objects of the revisions of release %s: %w", base[0].Release, err)
	}
	b.revisions = revisions
	return nil
}

// objects returns the objects that the revisions of a release can have written, from records that are
// proven. newest is the newest record if it was read, otherwise nil. A removal also uses the newest if
// it is not proven.
func (b *mergeBase) objects(newest *helmrelease.Release) ([]*unstructured.Unstructured, error) {
	var (
		revisions [][]*unstructured.Unstructured
		size      int
	)
	for _, of := range release.Distinct(release.Base(b.history())) {
		record, err := b.record(of, newest)
		if err != nil {
			return nil, err
		}
		if !b.records.Trusts(record) && (!b.records.Removes || record != newest) {
			continue
		}
		collectSecretsOfRecord(b.records.masker, record)
		text := b.records.stored[record.Version]
		revisions = append(revisions, text.objects)
		if size += len(text.manifest); size > MaxBase {
			return nil, BaseTooLarge(of)
		}
	}
	return manifest.Union(b.records.namespace, revisions...), nil
}

// record reads a record unless that was done.
func (b *mergeBase) record(of release.Observed, newest *helmrelease.Release) (*helmrelease.Release, error) {
	if newest != nil && newest.Version == of.Revision {
		return newest, nil
	}
	for _, record := range b.records.history {
		if record.Version == of.Revision && record.Chart != nil {
			return record, nil
		}
	}
	return b.records.listed(RecordName(of.Release, of.Revision))
}

// history returns the metadata of the history.
func (b *mergeBase) history() []release.Observed {
	history := make([]release.Observed, len(b.records.history))
	for i, record := range b.records.history {
		history[i] = ObservedOf(record)
	}
	return history
}

// served leaves out objects of kinds that the cluster does not serve. They do not exist, and
// Helm would fail at such a kind.
func (b *mergeBase) served(objects []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	served := make([]*unstructured.Unstructured, 0, len(objects))
	for _, object := range objects {
		isServed, err := b.serves(object.GroupVersionKind())
		if err != nil {
			return nil, err
		}
		if isServed {
			served = append(served, object)
		}
	}
	return served, nil
}
