// Package helm observes, installs, upgrades and uninstalls releases on one cluster. It is
// the only package that uses the actions and the storage of the Helm SDK.
package helm

import (
	"context"
	"fmt"
	"io"
	"sync"

	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/kube"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
)

// fieldManager is the name under which Helm's writes stand in managedFields. By
// default Helm takes the name of the program, which holds its version and would
// make each release of the provider a new owner of every field.
const fieldManager = "terraform-provider-fleet"

//nolint:gochecknoglobals // guards Helm's own global, which must not be written twice while others read it
var setFieldManager = sync.OnceFunc(func() { kube.ManagedFieldsManager = fieldManager })

// Objects reads the objects of one cluster and waits for them.
type Objects interface {
	Reader
	Waiter
}

// Reader reads objects.
type Reader interface {
	// Live reads objects and answers those that are there and those that are not. What
	// could not be read is in neither.
	Live(ctx context.Context, objects []*resource.Info) (found map[*resource.Info]*unstructured.Unstructured, absent []*resource.Info)
	// Existing is like Live and reads metadata only.
	Existing(ctx context.Context, objects []*resource.Info) (found map[*resource.Info]*unstructured.Unstructured, absent []*resource.Info)
	// Inspect compares live objects with those of releases, and answers a finding for
	// each release in their order.
	Inspect(ctx context.Context, releases []release.Inspection, objects [][]*unstructured.Unstructured) []release.Finding
}

// Waiter waits for objects.
type Waiter interface {
	// WaitReady returns when all objects that count are ready.
	WaitReady(ctx context.Context, objects []*resource.Info, counts release.Readiness) error
	// Ready looks once and fails with what WaitReady would fail with now.
	Ready(ctx context.Context, objects []*resource.Info, counts release.Readiness) error
	// WaitGone returns when none of the objects is there any more.
	WaitGone(ctx context.Context, objects []*resource.Info) error
	// Await waits until the objects of a release are ready or ctx ends, and tells what
	// is missing or not ready then. It can return earlier with the like.
	Await(ctx context.Context, of release.Inspection, objects []*unstructured.Unstructured) (release.Finding, error)
}

// Client performs release operations on one cluster. It is safe for concurrent
// use; discovery and capabilities are read once.
type Client struct {
	getter  genericclioptions.RESTClientGetter
	factory kube.Factory
	objects Objects
	charts  *render.Charts
	cache   *RecordCache
	// masker hides what the provider knows.
	masker *diff.Masker

	// asking is held by whoever asks the cluster for its capabilities. It can take its time
	// to answer, and who waits for another's question can give up.
	asking *semaphore.Weighted

	mu    sync.Mutex
	known *ability
	// forgotten counts how often known was.
	forgotten int
	// seen are the revisions of the newest records that were ever listed.
	seen map[string]int
	// kept are records of this process whose objects have not been looked at since.
	kept map[string]record

	// namespaces are those that were there a moment ago.
	namespaces sync.Map
	making     singleflight.Group
}

// New makes a client of a cluster's connection. It dials nothing. Errors of its operations have
// no value that masker hides, and none of a Secret that an operation writes or reads.
func New(getter genericclioptions.RESTClientGetter, objects Objects, charts *render.Charts, cache *RecordCache, masker *diff.Masker) *Client {
	setFieldManager()
	return &Client{
		getter: getter, factory: cmdutil.NewFactory(getter), objects: objects, charts: charts, cache: cache, masker: masker,
		asking: semaphore.NewWeighted(1), seen: map[string]int{}, kept: map[string]record{},
	}
}

// forgetCapabilities makes the next operation read them again, after an
// operation that may have brought new kinds.
func (c *Client) forgetCapabilities() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = nil
	c.forgotten++
}

// forgetKinds makes the next operation ask the cluster again.
func (c *Client) forgetKinds() {
	// First the mapper, as it forgets discovery, which capabilities are read from.
	if mapper, err := c.getter.ToRESTMapper(); err == nil { // The next operation fails with it.
		meta.MaybeResetRESTMapper(mapper)
	}
	c.forgetCapabilities()
}

// operation is what one Helm action on one namespace needs. Helm changes parts
// of it while it runs, so each action gets its own.
type operation struct {
	config  *action.Configuration
	client  *kubeClient
	records *recordDriver
	masker  *diff.Masker
	keep    func(*helmrelease.Release)
	able    *chartutil.Capabilities // of the cluster, whatever a chart is rendered with
}

func (c *Client) operation(ctx context.Context, namespace string) (*operation, error) {
	able, err := c.ability(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	shared := c.factory
	c.mu.Unlock()
	clientset, err := shared.KubernetesClientSet()
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	silent := func(string, ...any) {}
	masker := c.masker.For()
	masker.Publish(namespace)
	metadata, err := c.secrets(namespace)
	if err != nil {
		return nil, err
	}
	records := &recordDriver{ctx: ctx, masker: masker, Secrets: driver.NewSecrets(learningSecrets{SecretInterface: boundedSecrets{clientset.CoreV1().Secrets(namespace)}, masker: masker}), secrets: metadata, namespace: namespace}
	noted, ahead := &requests{}, &lookahead{existing: c.objects.Existing}
	getter := notedGetter{RESTClientGetter: c.getter, requests: noted, ahead: ahead, masker: masker, ctx: ctx}
	client := &kubeClient{
		Client:    &kube.Client{Factory: notedFactory{Factory: shared, getter: getter}, Namespace: namespace, Log: silent},
		ctx:       ctx,
		objects:   c.objects,
		requests:  noted,
		ahead:     ahead,
		gone:      map[*resource.Info]bool{},
		targets:   map[*resource.Info]bool{},
		rest:      func() bool { return false },
		resume:    func() error { return nil },
		validated: validatesFields(able.capabilities.KubeVersion),
		renew:     func() kube.Factory { return c.renew(getter) },
	}
	return &operation{
		client:  client,
		records: records,
		masker:  masker,
		keep:    c.keep,
		able:    able.capabilities,
		config: &action.Configuration{
			RESTClientGetter: c.getter,
			KubeClient:       client,
			Releases:         storage.Init(records),
			Capabilities:     able.capabilities.Copy(),
			Log:              silent,
			HookOutputFunc:   func(_, _, _ string) io.Writer { return io.Discard },
		},
	}, nil
}
