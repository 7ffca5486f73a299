package testenv

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

const (
	// leftTimeout is how long objects may take to disappear after the last test. A namespace takes
	// some seconds, and an existing cluster empties few of them at once.
	leftTimeout  = 2 * time.Minute
	leftInterval = 500 * time.Millisecond
)

// sharedObjects is set when the clusters of Shared have started.
//
//nolint:gochecknoglobals // Shared starts them, and Main compares.
var sharedObjects atomic.Pointer[Objects]

// Main runs the tests of a package. It fails if they left objects on the clusters of Shared.
func Main(m *testing.M) int {
	code := m.Run()
	objects := sharedObjects.Load()
	if objects == nil {
		return code
	}
	ctx, cancel := context.WithTimeout(context.Background(), leftTimeout) //nolint:forbidigo // The tests have ended.
	defer cancel()
	if err := objects.env.removeShared(ctx); err != nil {
		logToStderr("%v", err)
		return max(code, 1)
	}
	left, err := objects.Left(ctx)
	if err != nil {
		logToStderr("looking for objects that tests left: %v", err)
		return max(code, 1)
	}
	if len(left) > 0 {
		logToStderr("tests left these objects:\n  %s", strings.Join(left, "\n  "))
		return max(code, 1)
	}
	return code
}

// Objects are the namespaces and all other objects without a namespace that clusters had before the
// first test. Tests of several packages can run on the same clusters at the same time. The first of
// these processes notes the objects, and the last one compares. So what is left may be of another package.
type Objects struct {
	env  *Env
	path string
	lock *fileLock
}

// NoteObjects notes which objects exist, unless tests of another process run already.
func (e *Env) NoteObjects(ctx context.Context) (*Objects, error) {
	objects := &Objects{env: e, path: e.notePath()}
	lock, err := tryLock(objects.path + ".lock")
	if err != nil {
		return nil, err
	}
	if lock != nil {
		if err := objects.note(ctx); err != nil {
			lock.release()
			return nil, err
		}
	}
	objects.lock, err = shareLock(lock, objects.path+".lock")
	return objects, err
}

// notePath is a file beside the clusters, or in the folder for temporary files if they are existing ones.
func (e *Env) notePath() string {
	if !e.external {
		return e.kubeconfig + ".objects"
	}
	sum := sha256.Sum256([]byte(e.kubeconfig + "\x00" + strings.Join(e.Contexts(), "\x00")))
	return filepath.Join(os.TempDir(), "fleet-tests-"+hex.EncodeToString(sum[:8])+".objects")
}

func (o *Objects) note(ctx context.Context) error {
	found, err := o.find(ctx)
	if err != nil {
		return err
	}
	content, err := json.Marshal(found)
	if err != nil {
		return fmt.Errorf("encoding the names of objects: %w", err)
	}
	return write(o.path, content)
}

// Left returns what exists now and did not exist before the first test, when nothing of it is
// left or ctx ends. It returns nothing while tests of another process run.
func (o *Objects) Left(ctx context.Context) ([]string, error) {
	o.lock.release()
	lock, err := tryLock(o.path + ".lock")
	if lock == nil || err != nil {
		return nil, err
	}
	defer lock.release()
	content, err := os.ReadFile(o.path)
	if err != nil {
		return nil, fmt.Errorf("reading the names of objects: %w", err)
	}
	var before []string
	if err := json.Unmarshal(content, &before); err != nil {
		return nil, fmt.Errorf("decoding the names of objects in %s: %w", o.path, err)
	}
	return o.wait(ctx, before)
}

func (o *Objects) wait(ctx context.Context, before []string) ([]string, error) {
	retry := time.NewTicker(leftInterval)
	defer retry.Stop()
	var left []string
	failed := errors.New("nothing was read in time")
	for {
		if now, err := o.find(ctx); err == nil {
			left, failed = without(now, before), nil
		} else if ctx.Err() == nil {
			failed = err
		}
		if failed == nil && len(left) == 0 {
			return nil, nil
		}
		select {
		case <-ctx.Done():
			return left, failed
		case <-retry.C:
		}
	}
}

// without returns the names that are not among others.
func without(names, others []string) []string {
	known := map[string]bool{}
	for _, name := range others {
		known[name] = true
	}
	return slices.DeleteFunc(names, func(name string) bool { return known[name] })
}

// find returns the names of the objects on all clusters, such as "c1: ClusterRole.rbac.authorization.k8s.io/view".
func (o *Objects) find(ctx context.Context) ([]string, error) {
	found := make([][]string, len(o.env.clusters))
	group, groupCtx := errgroup.WithContext(ctx)
	for i, cluster := range o.env.clusters {
		group.Go(func() (err error) {
			if found[i], err = cluster.objects(groupCtx, o.env.external); err != nil {
				return fmt.Errorf("listing the objects of cluster %s: %w", cluster.context, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return slices.Concat(found...), nil
}

func (c *Cluster) objects(ctx context.Context, namespaces bool) ([]string, error) {
	config := c.RESTConfig()
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	kinds, err := kindsOfTests(config, namespaces)
	if err != nil {
		return nil, err
	}
	var found []string
	for kind, resource := range kinds {
		list, err := client.Resource(resource).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", kind, err)
		}
		for _, item := range list.Items {
			if !ofSystem(item.ObjectMeta) {
				found = append(found, c.context+": "+kind.String()+"/"+item.Name)
			}
		}
	}
	slices.Sort(found)
	return found, nil
}

// kindsOfTests returns the kinds that tests can create without a namespace.
func kindsOfTests(config *rest.Config, namespaces bool) (map[schema.GroupKind]schema.GroupVersionResource, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	groups, err := client.ServerPreferredResources()
	if err != nil {
		return nil, fmt.Errorf("asking for the kinds: %w", err)
	}
	kinds := map[schema.GroupKind]schema.GroupVersionResource{}
	for _, group := range groups {
		version, err := schema.ParseGroupVersion(group.GroupVersion)
		if err != nil {
			return nil, fmt.Errorf("reading the kinds: %w", err)
		}
		for _, kind := range group.APIResources {
			if ofTests(kind, namespaces) {
				kinds[version.WithKind(kind.Kind).GroupKind()] = version.WithResource(kind.Name)
			}
		}
	}
	return kinds, nil
}

// ofTests reports whether tests can create objects of a kind that have no namespace. Namespaces stay on
// local clusters, see RemoveAfter.
func ofTests(kind metav1.APIResource, namespaces bool) bool {
	if kind.Namespaced || !slices.Contains(kind.Verbs, "list") || !slices.Contains(kind.Verbs, "delete") {
		return false
	}
	switch kind.Kind {
	case "Namespace":
		return namespaces
	case "Node", "CSINode", "CertificateSigningRequest", "VolumeAttachment", "ResourceSlice": // Kubelets and drivers.
		return false
	case "FlowSchema", "PriorityLevelConfiguration", "IPAddress", "ServiceCIDR", "StorageVersion": // API servers.
		return false
	}
	return true
}

// ofSystem reports whether the API server manages an object, such as the APIService of a definition, or
// a definition that is deleted. It tries that again after pauses that become minutes.
func ofSystem(object metav1.ObjectMeta) bool {
	_, managed := object.Labels["kube-aggregator.kubernetes.io/automanaged"]
	ending := object.DeletionTimestamp != nil && slices.Equal(object.Finalizers, []string{apiextensionsv1.CustomResourceCleanupFinalizer})
	return managed || ending || strings.HasPrefix(object.Name, "kube-") || object.Name == metav1.NamespaceDefault
}
