package acceptance_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
)

// leftover is an object of a test.
type leftover struct {
	resource        schema.GroupVersionResource
	namespace, name string
	// of is the release that the object names.
	of string
	// shown is the printed name, such as "Secret x" or "ClusterRole x".
	shown string
	// stays is true if Helm leaves such an object, regardless of its chart.
	stays bool
}

// everything lists the objects in the namespace of the test, and objects elsewhere that name its
// releases.
func (g *consistencyNamespace) everything(ctx context.Context) ([]leftover, error) {
	g.kinds.Invalidate()
	lists, err := g.kinds.ServerPreferredResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, err
	}
	var (
		mu      sync.Mutex
		listing errgroup.Group
		found   []leftover
	)
	listing.SetLimit(8)
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "get", "delete"}}, lists) {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, kind := range list.APIResources {
			if kind.Kind == "Event" {
				continue
			}
			listing.Go(func() error {
				resource := version.WithResource(kind.Name)
				listed, err := g.names.Resource(resource).List(ctx, metav1.ListOptions{})
				if apierrors.IsNotFound(err) {
					return nil // Its definition was just removed.
				}
				if err != nil {
					return fmt.Errorf("listing %s: %w", kind.Name, err)
				}
				mu.Lock()
				defer mu.Unlock()
				for _, item := range listed.Items {
					if left := g.judge(resource, kind.Kind, &item); left != nil {
						found = append(found, *left)
					}
				}
				return nil
			})
		}
	}
	return found, listing.Wait()
}

// judge returns nil for objects that are not of the test, or that are in every namespace.
func (g *consistencyNamespace) judge(resource schema.GroupVersionResource, kind string, item *metav1.PartialObjectMetadata) *leftover {
	isDefault := kind == "ServiceAccount" && item.Name == "default" || kind == "ConfigMap" && item.Name == "kube-root-ca.crt"
	isOurs := g.isOurs(item.Namespace) || g.isOurs(item.Annotations["meta.helm.sh/release-namespace"]) || resource == definitionResource() && g.defines[item.Name]
	if isDefault || !isOurs {
		return nil
	}
	_, isHook := item.Annotations["helm.sh/hook"]
	left := &leftover{
		resource: resource, namespace: item.Namespace, name: item.Name, of: item.Annotations["meta.helm.sh/release-name"],
		stays: isHook || item.Annotations["helm.sh/resource-policy"] == "keep" || resource == definitionResource() || kind == "PersistentVolumeClaim",
	}
	name := item.Name
	if item.GenerateName != "" {
		name = item.GenerateName + "*"
	}
	if item.Namespace != "" && item.Namespace != g.namespace {
		name = item.Namespace + "/" + name
	}
	left.shown = kind + " " + strings.ReplaceAll(name, g.namespace, "NAMESPACE")
	return left
}

// isOurs reports whether a namespace is that of the test or one of those beside it.
func (g *consistencyNamespace) isOurs(namespace string) bool {
	return namespace == g.namespace || strings.HasPrefix(namespace, g.namespace+"-")
}

// clean removes everything of the test except its namespace, which the site removes.
func (g *consistencyNamespace) clean(ctx context.Context) error {
	found, err := g.everything(ctx)
	if err != nil {
		return err
	}
	namespaces := schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	listed, err := g.names.Resource(namespaces).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, namespace := range listed.Items {
		if g.isOurs(namespace.Name) && namespace.Name != g.namespace {
			found = append(found, leftover{resource: namespaces, name: namespace.Name, shown: "Namespace " + namespace.Name})
		}
	}
	for _, left := range found {
		if g.isOurs(left.namespace) {
			continue
		}
		err := g.names.Resource(left.resource).Namespace(left.namespace).Delete(ctx, left.name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("removing %s: %w", left.shown, err)
		}
	}
	return nil
}

// expectLeft wants nothing to be left of any row except the objects that the row names. Controllers
// take a moment to remove objects.
func (g *consistencyNamespace) expectLeft(t *testing.T, rows []*consistencyRow) {
	t.Helper()
	var (
		left    map[string][]string
		failure error
	)
	isWrong := func(row *consistencyRow) bool {
		return !slices.Equal(left[row.name], slices.Sorted(slices.Values(row.Leaves)))
	}
	waited := wait.PollUntilContextTimeout(t.Context(), time.Second, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		found, err := g.leftOf(ctx, rows)
		if failure = err; err == nil {
			left = found
		}
		return err == nil && !slices.ContainsFunc(rows, isWrong) && len(left[""]) == 0, nil
	})
	if left == nil {
		t.Errorf("looking for what is left: %v", failure)
	}
	if waited == nil {
		return
	}
	for _, row := range rows {
		if isWrong(row) {
			row.failf("left are %q, want %q", left[row.name], row.Leaves)
		}
	}
	if len(left[""]) > 0 {
		t.Errorf("left are %q, and nobody knows of which chart", left[""])
	}
}

// leftOf returns what is left of each row, with the key "" for objects of an unknown row.
func (g *consistencyNamespace) leftOf(ctx context.Context, rows []*consistencyRow) (map[string][]string, error) {
	found, err := g.everything(ctx)
	if err != nil {
		return nil, err
	}
	left := map[string][]string{}
	for _, object := range found {
		owner := &consistencyRow{}
		for _, row := range rows {
			isOf := object.of == row.name || slices.Contains(row.Leaves, object.shown) || strings.Contains(object.name, row.name) || row.foreign && object.namespace == row.namespace(g.namespace)
			if isOf && len(row.name) > len(owner.name) {
				owner = row
			}
		}
		if !owner.foreign || !object.stays {
			left[owner.name] = append(left[owner.name], object.shown)
		}
	}
	for name := range left {
		slices.Sort(left[name])
	}
	return left, nil
}
