package helm

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chartutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// ability is what a cluster answered when it was asked for its capabilities.
type ability struct {
	capabilities *chartutil.Capabilities
	silent       []string // API versions that did not say which kinds they have
}

// discovered is one answer of discovery.
type discovered struct {
	discovery.ServerResourcesInterface

	groups    []*metav1.APIGroup
	resources []*metav1.APIResourceList
	err       error
}

func (d discovered) ServerGroupsAndResources() ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	return d.groups, d.resources, d.err
}

// ability asks the cluster once.
func (c *Client) ability(ctx context.Context) (*ability, error) {
	if err := c.asking.Acquire(ctx, 1); err != nil {
		return nil, fmt.Errorf("waiting for what the cluster can do: %w", err)
	}
	defer c.asking.Release(1)
	c.mu.Lock()
	known, forgotten := c.known, c.forgotten
	c.mu.Unlock()
	if known != nil {
		return known, nil
	}
	known, err := c.askAbility(ctx)
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

func (c *Client) askAbility(ctx context.Context) (*ability, error) {
	client, err := c.getter.ToDiscoveryClient()
	if err != nil {
		return nil, fmt.Errorf("making a discovery client: %w", err)
	}
	asked := discovery.ToDiscoveryInterfaceWithContext(client)
	var (
		asking  errgroup.Group
		version *apiversion.Info
		found   = discovered{ServerResourcesInterface: client}
	)
	asking.Go(func() (err error) {
		version, err = asked.ServerVersionWithContext(ctx)
		return err
	})
	asking.Go(func() error {
		found.groups, found.resources, found.err = asked.ServerGroupsAndResourcesWithContext(ctx)
		return nil
	})
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
	known := &ability{capabilities: &chartutil.Capabilities{
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
	known, err := c.ability(ctx)
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
