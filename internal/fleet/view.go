package fleet

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// view is the state of one target in the management cluster.
type view struct {
	// bundles are the Bundles without specification and status, by name.
	bundles     map[string]metadata
	deployments map[deploymentID]*bundleDeployment
	clusters    map[string]managedCluster
}

// deploymentID is a BundleDeployment by its Bundle and its cluster.
type deploymentID struct{ bundle, cluster string }

// managedCluster is a cluster that is registered in the management cluster.
type managedCluster struct {
	agent

	uid string
	// namespace is the namespace of its BundleDeployments.
	namespace string
}

// selector selects the Bundles and BundleDeployments of some targets of one owner.
func selector(owner string, instances map[string]bool) string {
	return labelOwner + "=" + release.NewMark(owner, "", "", "", "").Owner + "," +
		labelInstance + " in (" + strings.Join(slices.Sorted(maps.Keys(instances)), ",") + ")"
}

// look reads the existing objects of a target: three lists for any number of clusters.
func (e *Engine) look(ctx context.Context, c *client, owner string, instances map[string]bool) (view, error) {
	found := view{bundles: map[string]metadata{}, deployments: map[deploymentID]*bundleDeployment{}}
	var reading errgroup.Group
	reading.Go(panics.Recovering("listing Bundles", func() error {
		return e.listBundles(ctx, c, selector(owner, instances), func(of metadata) { found.bundles[of.Name] = of })
	}))
	reading.Go(panics.Recovering("listing clusters", func() (err error) {
		found.clusters, err = e.listClusters(ctx, c)
		return err
	}))
	var listed []*bundleDeployment
	reading.Go(panics.Recovering("listing BundleDeployments", func() error {
		_, err := c.deployments(ctx, selector(owner, instances), func(bd *bundleDeployment) { listed = append(listed, bd) })
		if err != nil {
			return e.failed("listing the BundleDeployments of", err)
		}
		return nil
	}))
	if err := reading.Wait(); err != nil {
		return view{}, err
	}
	for _, bd := range listed {
		if id, ok := e.idOf(bd, found.clusters); ok {
			found.deployments[id] = bd
		}
	}
	return found, nil
}

// idOf returns the Bundle and the cluster of a BundleDeployment. Its labels count only in the
// namespace of the cluster that they name: the agent of another cluster cannot write there.
func (e *Engine) idOf(bd *bundleDeployment, clusters map[string]managedCluster) (deploymentID, bool) {
	labels := bd.Metadata.Labels
	cluster, known := clusters[labels[labelCluster]]
	isHere := known && cluster.namespace != "" && cluster.namespace == bd.Metadata.Namespace &&
		labels[labelClusterNamespace] == e.settings.Namespace && labels[labelBundleNamespace] == e.settings.Namespace
	return deploymentID{bundle: labels[labelBundleName], cluster: labels[labelCluster]}, isHere
}

// onlyAbout is an object without specification and status.
type onlyAbout struct {
	Metadata metadata `json:"metadata"`
}

// listBundles lists Bundles without specification and status.
func (e *Engine) listBundles(ctx context.Context, c *client, selector string, see func(metadata)) error {
	of := objectList[onlyAbout]{
		kind: "Bundle", resource: bundleResource, namespace: e.settings.Namespace,
		selector: selector, accept: onlyMetadata, limit: maxBundles, bytes: maxInventory,
	}
	if _, _, err := of.read(ctx, c.requests, func(of onlyAbout) { see(of.Metadata) }); err != nil {
		return e.failed("listing the Bundles of", err)
	}
	return nil
}

// deployments lists BundleDeployments of all namespaces, and returns the version of the list. Agents
// write their statuses. A status that cannot be read, or the statuses of a cluster that take too
// much, cost only their own cluster: its BundleDeployments are unreadable.
func (c *client) deployments(ctx context.Context, selector string, see func(*bundleDeployment)) (version string, err error) {
	of := objectList[bundleDeployment]{
		kind: "BundleDeployment", resource: deploymentResource, selector: selector, limit: maxDeployments, bytes: maxDeploymentsSize,
		namespaceBytes: maxClusterSize, namespaceOf: func(bd bundleDeployment) string { return bd.Metadata.Namespace },
		partial: partialDeployment,
	}
	version, leftOut, err := of.read(ctx, c.requests, func(bd bundleDeployment) {
		bd.trim()
		see(&bd)
	})
	for _, namespace := range leftOut {
		of := objectList[onlyAbout]{
			kind: of.kind, resource: of.resource, namespace: namespace, selector: selector,
			accept: onlyMetadata, limit: maxDeployments, bytes: maxInventory,
		}
		if _, _, err := of.read(ctx, c.requests, func(of onlyAbout) {
			see(&bundleDeployment{Metadata: of.Metadata, unreadable: errClusterTooLarge})
		}); err != nil {
			return "", err
		}
	}
	return version, err
}

func (e *Engine) listClusters(ctx context.Context, c *client) (map[string]managedCluster, error) {
	found, now := map[string]managedCluster{}, time.Now()
	_, _, err := clusterList(e.settings.Namespace).read(ctx, c.requests, func(of clusterObject) {
		seen := of.Status.Agent.LastSeen.Time
		found[of.Metadata.Name] = managedCluster{
			agent: agent{lastSeen: seen, offline: now.Sub(seen) > e.settings.OfflineAfter}, uid: of.Metadata.UID, namespace: of.Status.Namespace,
		}
	})
	if err != nil {
		return nil, e.failed("reading the clusters of", err)
	}
	return found, nil
}

// bundleOf finds the Bundle of a bundle: the Bundle with the instance in the state, else the first
// of the target.
func (v view) bundleOf(bundle string, known string) (metadata, bool) {
	label, instance := release.NewMark("", "", "", bundle, "").Bundle, release.NewMark("", "", known, "", "").Instance
	var first metadata
	for _, name := range slices.Sorted(maps.Keys(v.bundles)) {
		of := v.bundles[name]
		if of.Labels[labelBundle] != label {
			continue
		}
		if of.Labels[labelInstance] == instance {
			return of, true
		}
		if first.Name == "" {
			first = of
		}
	}
	return first, first.Name != ""
}

// hasSecrets reports whether messages about a Bundle can contain secrets that cannot be masked.
func (m *metadata) hasSecrets() bool { return m.Annotations[annotationSecrets] == "true" }

// isUnchanged reports whether a Bundle is as this provider wrote it.
func (m *metadata) isUnchanged() bool {
	return m.Annotations[annotationGeneration] == strconv.FormatInt(m.Generation, 10)
}
