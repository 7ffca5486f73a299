package helm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v3/pkg/kube"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// kubeClient is Helm's own client with waiting replaced: Helm's knows built-in
// kinds only, looks every two seconds and cannot be cancelled.
type kubeClient struct {
	*kube.Client
	//nolint:containedctx // Helm's interface hands no context to Wait; the client lives for one operation
	ctx      context.Context
	waiter   Waiter
	requests *requests
	// release is the one that is written, as release.Key.
	release string
	// ignore are conditions that say nothing about the readiness of objects.
	ignore []map[string]string
	// validated says that the API server checks fields itself.
	validated bool
	// renew makes another factory, in place of one that keeps a failure.
	renew func() kube.Factory
	// waitErr is what the last wait failed with. Helm keeps only its text.
	waitErr error
	// created are the objects that this operation has made, in their order: what
	// was there before is not among them, nor are hooks and namespaces.
	created kube.ResourceList
}

// creations is how many objects of a kind are made at once.
const creations = 8

// Create makes objects, those of one kind at once, and comes back when all that
// were begun are through. Helm's own Create returns at the first error while it
// goes on with others.
func (k *kubeClient) Create(objects kube.ResourceList) (*kube.Result, error) {
	result := &kube.Result{}
	for len(objects) > 0 {
		kind := objects[0].Mapping.GroupVersionKind
		end := slices.IndexFunc(objects, func(o *resource.Info) bool { return o.Mapping.GroupVersionKind != kind })
		if end < 0 {
			end = len(objects)
		}
		err := k.createAll(objects[:end])
		for _, object := range objects[:end] {
			if isCreated(object) {
				result.Created = append(result.Created, object)
			}
		}
		if err != nil {
			k.note(result.Created)
			return result, err
		}
		objects = objects[end:]
	}
	k.note(result.Created)
	return result, nil
}

func (k *kubeClient) createAll(objects kube.ResourceList) error {
	var creating errgroup.Group
	creating.SetLimit(creations)
	for _, object := range objects {
		creating.Go(func() error {
			_, err := k.Client.Create(kube.ResourceList{object})
			return err
		})
	}
	return creating.Wait()
}

// Update looks at what is live, of custom resources too. Helm's own Update compares
// those only with the revision before (pkg/kube/client.go, createPatch), so that what
// somebody changed on one would stay until the chart changes it as well.
func (k *kubeClient) Update(original, target kube.ResourceList, force bool) (*kube.Result, error) {
	return k.UpdateThreeWayMerge(original, target, force)
}

// UpdateThreeWayMerge notes what it had to make.
func (k *kubeClient) UpdateThreeWayMerge(original, target kube.ResourceList, force bool) (*kube.Result, error) {
	original, err := k.withoutTaken(original, target)
	if err != nil {
		return &kube.Result{}, err
	}
	result, err := k.Client.UpdateThreeWayMerge(original, target, force)
	k.note(result.Created)
	return result, k.whole(err)
}

// whole makes an error of what Helm passes over: an object that a revision no
// longer has and that could not be deleted.
func (k *kubeClient) whole(err error) error {
	if failure := k.requests.err(); err == nil && failure != nil {
		return fmt.Errorf("removing what the release no longer has: %w", failure)
	}
	return k.requests.withCause(err)
}

func (k *kubeClient) note(made kube.ResourceList) {
	for _, object := range made {
		if isCreated(object) && !isHook(object) && object.Mapping.GroupVersionKind.Kind != "Namespace" {
			k.created = append(k.created, object)
		}
	}
}

// isCreated says whether the API server has answered with the object.
func isCreated(object *resource.Info) bool { return object.ResourceVersion != "" }

func isHook(object *resource.Info) bool {
	annotations, err := meta.NewAccessor().Annotations(object.Object)
	return err == nil && annotations[helmrelease.HookAnnotation] != ""
}

// IsReachable asks nothing: the releases of the cluster were read before any
// operation starts.
func (k *kubeClient) IsReachable() error { return nil }

// Wait waits for all objects but jobs.
func (k *kubeClient) Wait(objects kube.ResourceList, timeout time.Duration) error {
	return k.wait(timeout, func(ctx context.Context) error {
		return k.waiter.WaitReady(ctx, objects, release.Readiness{Ignore: k.ignore})
	})
}

// WaitWithJobs waits for all objects, jobs too.
func (k *kubeClient) WaitWithJobs(objects kube.ResourceList, timeout time.Duration) error {
	return k.wait(timeout, func(ctx context.Context) error {
		return k.waiter.WaitReady(ctx, objects, release.Readiness{Jobs: true, Ignore: k.ignore})
	})
}

// WaitForDelete waits until all objects are gone.
func (k *kubeClient) WaitForDelete(objects kube.ResourceList, timeout time.Duration) error {
	return k.wait(timeout, func(ctx context.Context) error { return k.waiter.WaitGone(ctx, objects) })
}

func (k *kubeClient) wait(timeout time.Duration, until func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(k.ctx, timeout)
	defer cancel()
	k.waitErr = until(ctx)
	return k.waitErr
}

// recordPatience is how long a record is tried to be written, at least.
const recordPatience = 5 * time.Second

// recordDriver is Helm's own storage of release records, in which a removal
// can hold on to the record and leave objects alone.
type recordDriver struct {
	*driver.Secrets
	// until is when the time of the operation is over.
	until time.Time
	// hold refuses to delete records while it returns an error. Helm deletes
	// the record of a release even if its objects were not seen to go, and
	// what is left would then belong to nobody.
	hold func() error
	// edit changes records as they are read.
	edit func(record *helmrelease.Release) error
	// learn sees the manifests of records as they are read.
	learn func(manifest string)
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

// Create makes a record.
func (d *recordDriver) Create(key string, record *helmrelease.Release) error {
	if err := d.Secrets.Create(key, record); err != nil {
		return err
	}
	d.created = true
	return nil
}

// Get reads a record. Helm panics on one that it cannot decode
// (pkg/storage/driver/secrets.go), also in goroutines where nobody can catch it.
func (d *recordDriver) Get(key string) (record *helmrelease.Release, err error) {
	defer func() {
		if recover() != nil {
			record, err = nil, &release.CorruptRecordError{Name: key}
		}
	}()
	return d.Secrets.Get(key)
}

// Delete deletes the record unless it is held.
func (d *recordDriver) Delete(key string) (*helmrelease.Release, error) {
	if d.hold != nil {
		if err := d.hold(); err != nil {
			return nil, fmt.Errorf("keeping the release record %s: %w", key, err)
		}
	}
	record, err := d.Secrets.Delete(key)
	if errors.Is(err, driver.ErrReleaseNotFound) || apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // it went with its namespace, if that was one of the objects
	}
	return record, err
}

// Update changes a record. It says always the whole of it, so that it can be said
// again: a record that cannot be written makes a release that works look as if its
// operation had been cut short.
func (d *recordDriver) Update(key string, record *helmrelease.Release) error {
	_, d.unwritten = backoff.Retry(d.ctx, func() (struct{}, error) {
		err := d.Secrets.Update(key, record)
		if isRejected(err) && !apierrors.IsTooManyRequests(err) && !apierrors.IsConflict(err) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithMaxElapsedTime(max(recordPatience, time.Until(d.until))))
	return d.unwritten
}

// isTaken says whether the newest record keeps a release from being installed
// (helm.sh/helm/v3, pkg/action/install.go, availableName).
func isTaken(records []*helmrelease.Release) bool {
	newest := slices.MaxFunc(records, func(a, b *helmrelease.Release) int { return a.Version - b.Version })
	return newest.Info.Status != helmrelease.StatusUninstalled && newest.Info.Status != helmrelease.StatusFailed
}

// Query reads records by their labels.
func (d *recordDriver) Query(labels map[string]string) ([]*helmrelease.Release, error) {
	records, err := d.Secrets.Query(labels)
	if err != nil {
		if !errors.Is(err, driver.ErrReleaseNotFound) {
			d.unread = err
		}
		return nil, err
	}
	d.taken = len(records) > 0 && isTaken(records)
	for _, record := range records {
		d.learn(record.Manifest)
		if d.edit == nil {
			continue
		}
		if err := d.edit(record); err != nil {
			d.unread = fmt.Errorf("reading the manifest of release %s: %w", record.Name, err)
			return nil, d.unread
		}
	}
	return records, nil
}
