package cluster

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/preview"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/run"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/helm"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube/connect"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Client carries out the requests of packages run and preview on one cluster, by means of packages helm and
// kube. Its errors have the types of package status, and their texts contain no secret.
type Client struct {
	name string
	uid  string // that the cluster must have, "" for any
	// namespaces are those whose releases are known, nil for all.
	namespaces []string
	kube       *kube.Client
	helm       *helm.Client
	charts     *render.Charts
	masker     *mask.Masker

	mu       sync.Mutex
	accounts map[string]*helm.Client // by service account
}

var (
	_ run.Cluster     = (*Client)(nil)
	_ preview.Cluster = (*Client)(nil)
	_ helm.Cluster    = (*kube.Client)(nil)
)

// classified returns an error with its type and a text that may be stored in the state.
func (c *Client) classified(err error) error {
	if err == nil {
		return nil
	}
	return connect.Classify(c.name, mask.WithText(err, c.masker.Shown(err.Error())))
}

// Snapshot implements run.Observer.
func (c *Client) Snapshot(ctx context.Context) (release.Snapshot, error) {
	var (
		looking  errgroup.Group
		releases map[string]release.Observed
		leftOut  []string
		uid      string
	)
	looking.Go(panics.Recovering("listing the releases", func() (err error) {
		releases, leftOut, err = c.helm.Releases(ctx)
		return err
	}))
	looking.Go(panics.Recovering("reading the UID of the cluster", func() (err error) {
		if uid, err = c.kube.UID(ctx); connect.IsDenied(err) {
			return nil
		}
		return err
	}))
	if err := looking.Wait(); err != nil {
		return release.Snapshot{}, c.classified(err)
	}
	if c.uid != "" && uid != c.uid {
		return release.Snapshot{}, &deploy.OtherClusterError{Cluster: c.name, Want: c.uid, Got: uid}
	}
	return release.Snapshot{UID: uid, Confirmed: c.uid != "", Namespaces: c.namespaces, Releases: releases, LeftOut: leftOut}, nil
}

// Release implements run.Observer.
func (c *Client) Release(ctx context.Context, namespace, name string) (*release.Observed, error) {
	if err := release.CheckNamespace(c.name, c.namespaces, namespace); err != nil {
		return nil, err
	}
	observed, err := c.helm.Release(ctx, namespace, name)
	return observed, c.classified(err)
}

// HasRecord implements run.RecordReader.
func (c *Client) HasRecord(ctx context.Context, namespace, name string, revision int) (bool, error) {
	there, err := c.helm.HasRecord(ctx, namespace, name, revision)
	return there, c.classified(err)
}

// Inspect implements run.Observer.
func (c *Client) Inspect(ctx context.Context, releases []release.Inspection) ([]release.Finding, error) {
	findings := c.helm.Inspect(ctx, releases)
	for i := range findings {
		maskFinding(c, &findings[i])
	}
	return findings, nil
}

// Await implements run.Awaiter.
func (c *Client) Await(ctx context.Context, of release.Inspection) (release.Finding, error) {
	finding, err := c.helm.Await(ctx, of)
	maskFinding(c, &finding)
	return finding, c.classified(err)
}

// maskFinding masks what live objects report about themselves, because it is stored in the state.
func maskFinding(c *Client, finding *release.Finding) {
	finding.Err = c.classified(finding.Err)
	for i := range finding.NotReady {
		finding.NotReady[i].Reason = c.masker.Shown(finding.NotReady[i].Reason)
	}
	for i := range finding.NotOwned {
		finding.NotOwned[i].Owner = mask.Printable(finding.NotOwned[i].Owner)
	}
}

// Deployed implements preview.ObjectReader.
func (c *Client) Deployed(ctx context.Context, releases []release.Claimed) []release.Deployed {
	found := c.helm.Deployed(ctx, releases)
	for i := range found {
		found[i].Err = c.classified(found[i].Err)
	}
	return found
}

// StoredRenderings reads the renderings that are stored in the records of releases, in their order.
func (c *Client) StoredRenderings(ctx context.Context, releases []release.Observed) ([]release.Rendering, error) {
	return c.helm.StoredRenderings(ctx, releases)
}

// Versions implements run.Observer.
func (c *Client) Versions(ctx context.Context, references []target.Reference) (map[target.Reference]string, error) {
	versions, err := c.helm.Versions(ctx, references)
	return versions, c.classified(err)
}

// Definitions compares the custom resource definitions below crds/ of a chart with those of
// the cluster.
func (c *Client) Definitions(ctx context.Context, d target.Deployment, rendering release.Rendering) ([]release.Definition, error) {
	wanted, err := c.charts.Definitions(d, rendering)
	if err != nil || len(wanted) == 0 {
		return nil, err
	}
	found, err := c.helm.CompareDefinitions(ctx, d.Namespace, d.Release, wanted)
	for i := range found {
		found[i].Name, found[i].Owner = mask.Printable(found[i].Name), mask.Printable(found[i].Owner)
	}
	return found, c.classified(err)
}

// ExistingObjects finds objects that releases want and that have another owner.
func (c *Client) ExistingObjects(ctx context.Context, wanted []release.Wanted) ([]release.ExistingObject, error) {
	found, err := c.helm.ExistingObjects(ctx, wanted)
	return found, c.classified(err)
}

// Lacks returns those of the needs that the cluster does not have.
func (c *Client) Lacks(ctx context.Context, needs release.Needs) (release.Needs, error) {
	lacks, err := c.kube.Lacks(ctx, needs)
	return lacks, c.classified(err)
}

// Compare compares the live objects of releases with the wanted ones.
func (c *Client) Compare(ctx context.Context, wanted []release.Comparison) []release.Compared {
	compared := c.kube.Compare(ctx, wanted)
	for i := range compared {
		compared[i].Err = c.classified(compared[i].Err)
	}
	return compared
}

// FleetAgent returns the name of an agent of Fleet on the cluster, "" if there is none.
func (c *Client) FleetAgent(ctx context.Context) (string, error) {
	name, err := c.helm.FleetAgent(ctx)
	return name, c.classified(err)
}

// Capabilities implements run.Observer.
func (c *Client) Capabilities(ctx context.Context) (target.Capabilities, error) {
	found, err := c.helm.Capabilities(ctx)
	return found, c.classified(err)
}

// UID returns the identity of the cluster: that of its namespace kube-system.
func (c *Client) UID(ctx context.Context) (string, error) {
	uid, err := c.kube.UID(ctx)
	return uid, c.classified(err)
}

// Creator implements run.RecordReader.
func (c *Client) Creator(ctx context.Context, observed release.Observed) (release.Creator, error) {
	name, isFleets, err := c.helm.Origin(ctx, observed)
	return release.Creator{Name: mask.PrintableLine(name), Fleet: isFleets}, c.classified(err)
}

// Objects implements run.RecordReader.
func (c *Client) Objects(ctx context.Context, releases []release.Observed) ([][]string, error) {
	claimed := make([]release.Claimed, len(releases))
	for i, observed := range releases {
		claimed[i].Observed = observed
	}
	objects := make([][]string, len(releases))
	for i, found := range c.helm.Deployed(ctx, claimed) {
		for _, document := range found.Documents {
			objects[i] = append(objects[i], mask.PrintableLine(document.Key()))
		}
	}
	return objects, nil
}

// Write implements run.Writer.
func (c *Client) Write(
	ctx context.Context, action release.Action, d target.Deployment, observed *release.Observed, w release.Write,
) (release.Written, error) {
	acting, err := actingAs(c, w.Mark.UninstallPolicy.ServiceAccount)
	if err != nil {
		return release.Written{}, err
	}
	written, err := acting.Write(ctx, action, d, observed, w)
	if written.NotReady != nil {
		written.NotReady = mask.WithText(written.NotReady, c.masker.Shown(written.NotReady.Error()))
	}
	return written, c.classified(err)
}

// Uninstall implements run.Writer.
func (c *Client) Uninstall(ctx context.Context, observed release.Observed, removal release.Removal) (release.Removed, error) {
	acting, err := actingAs(c, removal.Known.ServiceAccount)
	if err != nil {
		return release.Removed{}, err
	}
	removed, err := acting.Uninstall(ctx, observed, removal)
	return removed, c.classified(err)
}

// agentNamespace is the namespace of the service accounts that bundles name: Fleet's agents look
// them up in their own namespace (Fleet: internal/helmdeployer/impersonate.go).
const agentNamespace = "cattle-fleet-system"

// actingAs returns a client that acts as a service account of the cluster, or with the connection's
// identity for "".
func actingAs(c *Client, serviceAccount string) (*helm.Client, error) {
	if serviceAccount == "" {
		return c.helm, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.accounts[serviceAccount]; ok {
		return known, nil
	}
	acting, err := c.kube.As(agentNamespace, serviceAccount)
	if err != nil {
		return nil, fmt.Errorf("acting as service account %s on cluster %s: %w", serviceAccount, c.name, err)
	}
	if c.accounts == nil {
		c.accounts = map[string]*helm.Client{}
	}
	c.accounts[serviceAccount] = c.helm.As(acting)
	return c.accounts[serviceAccount], nil
}
