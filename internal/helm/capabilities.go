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

	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// discoveredCapabilities is what a cluster returned about its capabilities.
type discoveredCapabilities struct {
	capabilities *chartutil.Capabilities
	silent       []string // API versions that did not return their kinds
}

// capabilityReader reads the capabilities of a cluster once, and again only after forget.
type capabilityReader struct {
	connection *connection

	// asking is acquired before the request to the cluster. The response can take a while, and
	// a caller that waits for the request of another caller can give up.
	asking *semaphore.Weighted

	mu    sync.Mutex
	known *discoveredCapabilities
	// forgotten counts the calls of forget.
	forgotten int
}

func newCapabilityReader(connection *connection) *capabilityReader {
	return &capabilityReader{connection: connection, asking: semaphore.NewWeighted(1)}
}

// discovered is a response of the discovery API.
type discovered struct {
	discovery.ServerResourcesInterface

	groups    []*metav1.APIGroup
	resources []*metav1.APIResourceList
	err       error
}

func (d discovered) ServerGroupsAndResources() ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	return d.groups, d.resources, d.err
}

// read returns the capabilities, and requests them from the cluster only if they are not
// known.
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
	if c.forgotten == forgotten { // Otherwise known can be older than the change that called forget.
		c.known = known
	}
	return known, nil
}

func (c *capabilityReader) ask(ctx context.Context) (*discoveredCapabilities, error) {
	client := c.connection.Discovery()
	asked := discovery.ToDiscoveryInterfaceWithContext(client)
	var (
		asking  errgroup.Group
		version *apiversion.Info
		found   = discovered{ServerResourcesInterface: client}
	)
	asking.Go(panics.Recovering("reading the version of the API server", func() (err error) {
		version, err = asked.ServerVersionWithContext(ctx)
		return err
	}))
	asking.Go(panics.Recovering("reading the API groups of the cluster", func() error {
		found.groups, found.resources, found.err = asked.ServerGroupsAndResourcesWithContext(ctx)
		return nil
	}))
	if err := asking.Wait(); err != nil {
		return nil, fmt.Errorf("reading the version of the API server: %w", err)
	}
	if err := ctx.Err(); err != nil { // An API group whose request was cancelled looks like one that does not respond.
		return nil, fmt.Errorf("reading the API groups of the cluster: %w", err)
	}
	apis, err := action.GetVersionSet(found)
	if err != nil {
		return nil, fmt.Errorf("reading the API groups of the cluster: %w", err)
	}
	slices.Sort(apis) // Charts can print the list, and Helm returns it in random order.
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

// Capabilities returns what charts see as .Capabilities on this cluster.
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

// lost returns the API versions that existed before and no longer exist.
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

// forget makes the next operation read the capabilities again. It is called after an operation
// that may have added kinds.
func (c *capabilityReader) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = nil
	c.forgotten++
}

// forgetKinds makes the next operation read the kinds and the capabilities of the cluster
// again.
func (c *capabilityReader) forgetKinds() {
	// The mapper is first: its reset also drops discovery, from which capabilities are read.
	meta.MaybeResetRESTMapper(c.connection.Mapper())
	c.forget()
}
