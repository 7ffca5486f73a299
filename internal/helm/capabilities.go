package helm

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// discoveredCapabilities is what a cluster answered when it was asked for its capabilities.
type discoveredCapabilities struct {
	capabilities *chartutil.Capabilities
	silent       []string // API versions that did not say which kinds they have
}

// capabilityReader asks a cluster what it can do, once, until something changes that.
type capabilityReader struct {
	connection *connection

	// asking is acquired before the cluster is asked. Its response can take a while, and a
	// caller that waits for another's request can give up.
	asking *semaphore.Weighted

	mu    sync.Mutex
	known *discoveredCapabilities
	// forgotten counts how often known was.
	forgotten int
}

func newCapabilityReader(connection *connection) *capabilityReader {
	return &capabilityReader{connection: connection, asking: semaphore.NewWeighted(1)}
}

// discovered is one response of discovery.
type discovered struct {
	discovery.ServerResourcesInterface

	groups    []*metav1.APIGroup
	resources []*metav1.APIResourceList
	err       error
}

func (d discovered) ServerGroupsAndResources() ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	return d.groups, d.resources, d.err
}

// read asks the cluster once.
func (c *capabilityReader) read(ctx context.Context) (*discoveredCapabilities, error) {
	if err := c.asking.Acquire(ctx, 1); err != nil {
		return nil, fmt.Errorf("waiting for the capabilities of the cluster: %w", err)
	}
	defer c.asking.Release(1)
	c.mu.Lock()
	known, forgotten := c.known, c.forgotten
	c.mu.Unlock()
	if known != nil {
		return known, nil
	}
	known, err := c.ask(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.forgotten == forgotten { // Else it can be from before what changed it.
		c.known = known
	}
	return known, nil
}

func (c *capabilityReader) ask(ctx context.Context) (*discoveredCapabilities, error) {
	client, err := c.connection.getter.ToDiscoveryClient()
	if err != nil {
		return nil, fmt.Errorf("creating a discovery client: %w", err)
	}
	asked := discovery.ToDiscoveryInterfaceWithContext(client)
	var (
		asking  errgroup.Group
		version *apiversion.Info
		found   = discovered{ServerResourcesInterface: client}
	)
	asking.Go(status.Recovering("reading the version of the API server", func() (err error) {
		version, err = asked.ServerVersionWithContext(ctx)
		return err
	}))
	asking.Go(status.Recovering("reading the API groups of the cluster", func() error {
		found.groups, found.resources, found.err = asked.ServerGroupsAndResourcesWithContext(ctx)
		return nil
	}))
	if err := asking.Wait(); err != nil {
		return nil, fmt.Errorf("reading the version of the API server: %w", err)
	}
	if err := ctx.Err(); err != nil { // A group that was cut off looks like one that is silent.
		return nil, fmt.Errorf("reading the API groups of the cluster: %w", err)
	}
	apis, err := action.GetVersionSet(found)
	if err != nil {
		return nil, fmt.Errorf("reading the API groups of the cluster: %w", err)
	}
	slices.Sort(apis) // Charts can show them, and Helm gives them in no order.
	known := &discoveredCapabilities{capabilities: &chartutil.Capabilities{
		APIVersions: apis,
		KubeVersion: chartutil.KubeVersion{Version: version.GitVersion, Major: version.Major, Minor: version.Minor},
		HelmVersion: chartutil.DefaultCapabilities.HelmVersion,
	}}
	failed, _ := discovery.GroupDiscoveryFailedErrorGroups(found.err)
	for group := range failed {
		known.silent = append(known.silent, group.String())
	}
	slices.Sort(known.silent)
	return known, nil
}

// Capabilities are what charts see as .Capabilities on this cluster.
func (c *Client) Capabilities(ctx context.Context) (target.Capabilities, error) {
	known, err := c.capabilities.read(ctx)
	if err != nil {
		return target.Capabilities{}, err
	}
	version := known.capabilities.KubeVersion
	return target.Capabilities{
		Version: version.Version, Major: version.Major, Minor: version.Minor,
		APIs: slices.Clone(known.capabilities.APIVersions), Silent: known.silent,
	}, nil
}

// lost names API versions that were there before and are not any more.
func lost(before target.Capabilities, now *chartutil.Capabilities) []string {
	var names []string
	for _, api := range before.APIs {
		ofOneThatIsLost := slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(api, name+"/") })
		if !now.APIVersions.Has(api) && !ofOneThatIsLost {
			names = append(names, api)
		}
	}
	return names
}

// forget makes the next operation read them again, after an
// operation that may have brought new kinds.
func (c *capabilityReader) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = nil
	c.forgotten++
}

// forgetKinds makes the next operation ask the cluster again.
func (c *capabilityReader) forgetKinds() {
	// First the mapper, as it forgets discovery, which capabilities are read from.
	if mapper, err := c.connection.getter.ToRESTMapper(); err == nil { // The next operation fails with it.
		meta.MaybeResetRESTMapper(mapper)
	}
	c.forget()
}
