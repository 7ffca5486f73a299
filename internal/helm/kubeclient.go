package helm

import (
	"context"
	"fmt"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
)

// kubeClient is Helm's own client with waiting replaced: Helm's knows built-in
// kinds only, looks every two seconds and cannot be cancelled.
type kubeClient struct {
	*kube.Client
	//nolint:containedctx // Helm's interface hands no context to Wait; the client lives for one operation
	ctx    context.Context
	waiter Waiter
	// waitErr is what the last wait failed with. Helm keeps only its text.
	waitErr error
}

// IsReachable asks nothing: the releases of the cluster were read before any
// operation starts.
func (k *kubeClient) IsReachable() error { return nil }

// Wait waits for all objects but jobs.
func (k *kubeClient) Wait(objects kube.ResourceList, timeout time.Duration) error {
	return k.wait(timeout, func(ctx context.Context) error { return k.waiter.WaitReady(ctx, objects, false) })
}

// WaitWithJobs waits for all objects, jobs too.
func (k *kubeClient) WaitWithJobs(objects kube.ResourceList, timeout time.Duration) error {
	return k.wait(timeout, func(ctx context.Context) error { return k.waiter.WaitReady(ctx, objects, true) })
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

// recordDriver is Helm's own storage of release records, in which a removal
// can hold on to the record and spare objects.
type recordDriver struct {
	*driver.Secrets
	// hold refuses to delete records while it returns an error. Helm deletes
	// the record of a release even if its objects were not seen to go, and
	// what is left would then belong to nobody.
	hold func() error
	// spare takes objects out of the manifest of records as they are read.
	spare func(manifest string) (string, error)
	// learn sees the manifests of records as they are read.
	learn func(manifest string)
}

// Delete deletes the record unless it is held.
func (d *recordDriver) Delete(key string) (*helmrelease.Release, error) {
	if d.hold != nil {
		if err := d.hold(); err != nil {
			return nil, fmt.Errorf("keeping the release record %s: %w", key, err)
		}
	}
	return d.Secrets.Delete(key)
}

// Query reads records by their labels.
func (d *recordDriver) Query(labels map[string]string) ([]*helmrelease.Release, error) {
	records, err := d.Secrets.Query(labels)
	if err != nil {
		return nil, err
	}
	for _, record := range records {
		d.learn(record.Manifest)
		if d.spare == nil {
			continue
		}
		if record.Manifest, err = d.spare(record.Manifest); err != nil {
			return nil, fmt.Errorf("reading the manifest of release %s: %w", record.Name, err)
		}
	}
	return records, nil
}
