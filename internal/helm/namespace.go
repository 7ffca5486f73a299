package helm

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/discovery"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/helm/storage"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// prepareNamespace creates the namespace of a release if that is wanted, and sets the labels and
// annotations of the bundle. It does so before any object is written: labels of Pod Security
// decide which pods may start.
func (c *Client) prepareNamespace(ctx context.Context, d target.Deployment, w release.Write, observed *release.Observed) error {
	had := observed != nil && observed.Mark.UninstallPolicy.NamespaceKeys || w.Known != nil && w.Known.NamespaceKeys
	if observed == nil {
		if err := c.makeNamespace(ctx, d, w.Mark); err != nil {
			return err
		}
	}
	if !w.Mark.UninstallPolicy.NamespaceKeys && !had {
		return nil
	}
	return c.setNamespaceKeys(ctx, d.Namespace, d.Release, d.Options.NamespaceLabels, d.Options.NamespaceAnnotations)
}

// makeNamespace creates a namespace unless it exists. Only a namespace that was created here has the
// owner's label and is ever deleted.
func (c *Client) makeNamespace(ctx context.Context, d target.Deployment, mark release.Mark) error {
	namespaces := c.connection.Typed().CoreV1().Namespaces()
	if !d.Options.CreatesNamespace() {
		// Setting labels would create a namespace against the configuration.
		if _, err := namespaces.Get(ctx, d.Namespace, metav1.GetOptions{}); err != nil && !apierrors.IsForbidden(err) {
			option := d.Bundle.Spelling().Name("createNamespace")
			return status.Named(err, "reading the namespace %s, which is not created because %s is false", d.Namespace, option)
		}
		return nil
	}
	return c.inUse.make(ctx, d.Namespace, func() error { return createNamespace(ctx, namespaces, d.Namespace, mark.Owner) })
}

func createNamespace(ctx context.Context, namespaces corev1client.NamespaceInterface, name, owner string) error {
	fresh := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"name": name, storage.LabelOwner: owner}}}
	_, err := namespaces.Create(ctx, fresh, metav1.CreateOptions{FieldManager: fieldManager})
	if err == nil || apierrors.IsAlreadyExists(err) {
		return nil
	}
	if apierrors.IsForbidden(err) && exists(ctx, namespaces, name) {
		return nil // Some users may deploy and may not create namespaces.
	}
	return status.Named(err, "creating the namespace %s", name)
}

func exists(ctx context.Context, namespaces corev1client.NamespaceInterface, namespace string) bool {
	_, err := namespaces.Get(ctx, namespace, metav1.GetOptions{})
	return err == nil
}

// setNamespaceKeys sets exactly these labels and annotations for a release on its namespace. Labels and
// annotations of others stay, as in Fleet 0.17. Earlier versions delete them
// (internal/cmd/agent/deployer/deployer.go).
func (c *Client) setNamespaceKeys(ctx context.Context, namespace, name string, labels, annotations map[string]string) error {
	wanted := corev1apply.Namespace(namespace).WithLabels(labels).WithAnnotations(annotations)
	// Releases can share a namespace. With one common field manager, each release would remove
	// what the others have set.
	options := metav1.ApplyOptions{FieldManager: fieldManager + "/" + name, Force: true}
	if _, err := c.connection.Typed().CoreV1().Namespaces().Apply(ctx, wanted, options); err != nil {
		return status.Named(err, "setting labels and annotations of the namespace %s", namespace)
	}
	return nil
}

// protectedNamespace reports whether a namespace is never deleted, even if a release created
// it (Fleet: internal/cmd/controller/finalize/finalize.go).
func protectedNamespace(name string) bool {
	return name == metav1.NamespaceDefault || strings.HasPrefix(name, "kube-") ||
		strings.HasPrefix(name, "cattle-fleet-") || strings.HasPrefix(name, "fleet-")
}

// leaveNamespace deletes or cleans up the namespace of a removed release, as its uninstall policy
// requires. usedBy are releases that are to be deployed to the namespace. leaveNamespace returns what
// prevents the deletion of the namespace.
func (c *Client) leaveNamespace(
	ctx context.Context, observed release.Observed, policy release.UninstallPolicy, usedBy []string, timeout time.Duration,
) (inUse []string, err error) {
	if !policy.DeleteNamespace && !policy.NamespaceKeys {
		return nil, nil
	}
	namespace, err := c.connection.Typed().CoreV1().Namespaces().Get(ctx, observed.Namespace, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the namespace %s: %w", observed.Namespace, err)
	}
	own := observed.Mark.Owner != "" && namespace.Labels[storage.LabelOwner] == observed.Mark.Owner && !protectedNamespace(namespace.Name)
	if policy.DeleteNamespace && own {
		if inUse, err = c.removeNamespace(ctx, namespace, usedBy, timeout); err != nil || len(inUse) == 0 {
			return nil, err
		}
	}
	if !policy.NamespaceKeys {
		return inUse, nil
	}
	return inUse, c.setNamespaceKeys(ctx, observed.Namespace, observed.Release, nil, nil)
}

// removeNamespace deletes a namespace that is empty and that no release is deployed to. It returns when
// the namespace no longer exists, or with what prevents the deletion.
func (c *Client) removeNamespace(
	ctx context.Context, namespace *corev1.Namespace, usedBy []string, timeout time.Duration,
) (inUse []string, err error) {
	for _, name := range usedBy {
		inUse = append(inUse, "release "+name)
	}
	if len(inUse) > 0 {
		return inUse, nil
	}
	isWritten, err := c.inUse.remove(ctx, namespace.Name, func() (err error) {
		if inUse, err = inNamespace(ctx, c.connection, namespace.Name); err != nil {
			return fmt.Errorf("checking whether the namespace %s is empty: %w", namespace.Name, err)
		}
		if len(inUse) > 0 {
			return nil
		}
		return c.deleteNamespace(ctx, namespace, timeout)
	})
	if isWritten {
		return []string{"a release that is being deployed"}, nil
	}
	return inUse, err
}

// deleteNamespace deletes exactly this namespace and returns when it no longer exists.
func (c *Client) deleteNamespace(ctx context.Context, namespace *corev1.Namespace, timeout time.Duration) error {
	options := metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(namespace.UID))}
	err := c.connection.Typed().CoreV1().Namespaces().Delete(ctx, namespace.Name, options)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // Another client deleted or replaced it.
	}
	if err != nil {
		return fmt.Errorf("deleting the namespace %s: %w", namespace.Name, err)
	}
	op, err := c.begin(ctx, namespace.Name, settings{}, storage.Options{})
	if err != nil {
		return err
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	object.SetName(namespace.Name)
	gone, err := op.buildObjects([]*unstructured.Unstructured{object})
	if err != nil {
		return fmt.Errorf("waiting for the deletion of the namespace %s: %w", namespace.Name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := op.client.cluster.WaitDeleted(ctx, gone); err != nil {
		return fmt.Errorf("waiting for the deletion of the namespace %s: %w", namespace.Name, err)
	}
	return nil
}

// namedObjects is how many objects are named that prevent the deletion of a namespace.
const namedObjects = 5

// inNamespace names a few objects that would be deleted with a namespace. Objects that
// Kubernetes creates by itself and objects with an owner do not count.
func inNamespace(ctx context.Context, cluster Cluster, namespace string) ([]string, error) {
	// A group that does not respond can contain anything.
	lists, err := discovery.ServerPreferredNamespacedResources(cluster.Discovery())
	if err != nil {
		return nil, fmt.Errorf("reading the kinds of the cluster: %w", err)
	}
	var (
		mu    sync.Mutex
		names []string
	)
	looking, ctx := errgroup.WithContext(ctx)
	looking.SetLimit(lookups)
	for _, kind := range listable(lists) {
		looking.Go(panics.Recovering("listing the namespace", func() error {
			found, err := kind.in(ctx, cluster.Metadata().Resource(kind.resource).Namespace(namespace))
			mu.Lock()
			defer mu.Unlock()
			names = append(names, found...)
			return err
		}))
	}
	if err := looking.Wait(); err != nil {
		return nil, err
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) > namedObjects {
		return append(names[:namedObjects:namedObjects], fmt.Sprintf("%d more", len(names)-namedObjects)), nil
	}
	return names, nil
}

type listableKind struct {
	kind     string
	resource schema.GroupVersionResource
}

// in names the objects of the kind that prevent the deletion of a namespace.
func (k listableKind) in(ctx context.Context, client metadata.ResourceInterface) ([]string, error) {
	var names []string
	leftOut, err := eachMetadata(ctx, client, "", maxNamespace, func(object *metav1.PartialObjectMetadata) error {
		if !isNamespaceDefault(k.kind, object) {
			names = append(names, k.kind+" "+object.Name)
		}
		return nil
	})
	if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", k.resource.Resource, err)
	}
	if len(leftOut) > 0 {
		return []string{k.kind + " objects, which are too large to list"}, nil
	}
	return names, nil
}

func listable(lists []*metav1.APIResourceList) []listableKind {
	var kinds []listableKind
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for _, kind := range list.APIResources {
			comesAndGoes := kind.Kind == "Event" || kind.Kind == "Endpoints"
			if slices.Contains(kind.Verbs, "list") && slices.Contains(kind.Verbs, "delete") && !comesAndGoes {
				kinds = append(kinds, listableKind{kind: kind.Kind, resource: version.WithResource(kind.Name)})
			}
		}
	}
	return kinds
}

// isNamespaceDefault reports whether an object does not prevent the deletion of its namespace:
// it has an owner, is being deleted, or is created in each namespace.
func isNamespaceDefault(kind string, object metav1.Object) bool {
	switch {
	case len(object.GetOwnerReferences()) > 0, object.GetDeletionTimestamp() != nil:
		return true
	case kind == "ServiceAccount":
		return object.GetName() == "default"
	case kind == "ConfigMap":
		return object.GetName() == "kube-root-ca.crt" || object.GetName() == "openshift-service-ca.crt"
	}
	return false
}
