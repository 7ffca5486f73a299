package storage

import (
	"fmt"
	"slices"

	helmrelease "helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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

// rebase gives records that Helm merges from the objects of all revisions that objects on the cluster
// can come from. Helm itself merges from the last deployed revision alone, and never removes what a
// failed one has added (pkg/action/upgrade.go, prepareUpgrade).
func (d *Driver) rebase(records ...*helmrelease.Release) error {
	base := release.Base(d.observedHistory())
	if d.options.Removal != nil || len(base) < 2 {
		return nil
	}
	d.pinned = map[string]bool{}
	for _, revision := range release.Distinct(base) {
		d.pinned[RecordName(revision.Release, revision.Revision)] = true
	}
	if err := d.writeBase(base); err != nil {
		return err
	}
	for _, record := range records {
		if slices.ContainsFunc(base, func(of release.Observed) bool { return of.Revision == record.Version }) {
			record.Manifest = d.base
		}
	}
	return nil
}

// writeBase writes the manifest that Helm merges from, unless that was done for the same revisions.
func (d *Driver) writeBase(base []release.Observed) error {
	revisions := fmt.Sprint(base)
	if d.baseRevisions == revisions {
		return nil
	}
	objects, err := d.Objects(nil)
	if err != nil {
		return err
	}
	if objects, err = d.served(objects); err != nil {
		return err
	}
	if d.base, err = d.options.Checked.Write(objects); err != nil {
		return fmt.Errorf("writing the objects of the revisions of release %s: %w", base[0].Release, err)
	}
	d.baseRevisions = revisions
	return nil
}

// Objects returns the objects that the revisions of a release can have written, from records that are
// proven. newest is the newest record if it was read, otherwise nil. A removal also uses the newest if
// it is not proven.
func (d *Driver) Objects(newest *helmrelease.Release) ([]*unstructured.Unstructured, error) {
	var (
		revisions [][]*unstructured.Unstructured
		size      int
	)
	for _, of := range release.Distinct(release.Base(d.observedHistory())) {
		record, err := d.record(of, newest)
		if err != nil {
			return nil, err
		}
		if !d.Trusts(record) && (d.options.Removal == nil || record != newest) {
			continue
		}
		collectSecretsOfRecord(d.options.Masker, record)
		text := d.stored[record.Version]
		revisions = append(revisions, text.objects)
		if size += len(text.manifest); size > MaxBase {
			return nil, BaseTooLarge(of)
		}
	}
	return manifest.Union(d.namespace, revisions...), nil
}

// record reads a record unless that was done.
func (d *Driver) record(of release.Observed, newest *helmrelease.Release) (*helmrelease.Release, error) {
	if newest != nil && newest.Version == of.Revision {
		return newest, nil
	}
	for _, record := range d.history {
		if record.Version == of.Revision && record.Chart != nil {
			return record, nil
		}
	}
	return d.listed(RecordName(of.Release, of.Revision))
}

// observedHistory returns the metadata of the history.
func (d *Driver) observedHistory() []release.Observed {
	history := make([]release.Observed, len(d.history))
	for i, record := range d.history {
		history[i] = ObservedOf(record)
	}
	return history
}

// served leaves out objects of kinds that the cluster does not serve. They do not exist, and
// Helm would fail at such a kind.
func (d *Driver) served(objects []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	served := make([]*unstructured.Unstructured, 0, len(objects))
	for _, object := range objects {
		isServed, err := d.options.Serves(object.GroupVersionKind())
		if err != nil {
			return nil, err
		}
		if isServed {
			served = append(served, object)
		}
	}
	return served, nil
}
