package engine

import (
	"context"
	"maps"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// Import reads the deployments of a target from its Bundles. only are the clusters to import from, nil
// for all. A deployment that Fleet has not created yet is left out: the next plan shows it as new.
func (e *Engine) Import(ctx context.Context, owner, target string, only []string) (*deploy.Imported, error) {
	c, err := e.management()
	if err != nil {
		return nil, err
	}
	clusters, err := e.listClusters(ctx, c)
	if err != nil {
		return nil, err
	}
	named := release.NewMark(owner, target, "", "", "")
	selector := labelOwner + "=" + named.Owner + "," + labelTarget + "=" + named.Target
	bundles := map[string]metadata{}
	if err := c.bundles(ctx, e.settings.Namespace, selector, func(of metadata) { bundles[of.Name] = of }); err != nil {
		return nil, e.failed("listing the Bundles of", err)
	}
	found := deploy.NewImported(owner)
	maps.DeleteFunc(clusters, func(name string, _ managedCluster) bool { return only != nil && !slices.Contains(only, name) })
	err = c.releases(ctx, selector, func(d deployedRelease) {
		if d.unreadable != nil {
			addUnreadable(found, clusters, d)
			return
		}
		id, here := e.idOf(&bundleDeployment{Metadata: d.Metadata}, clusters)
		digest, delivered := deploymentsOf(bundles[id.bundle].Annotations)[id.cluster]
		if !here || !delivered || digest == emptyDigest {
			return
		}
		found.Add(id.cluster, importedRecord(d, clusters[id.cluster].uid, digest, found.Key), markOf(bundles[id.bundle].Labels))
	})
	if err != nil {
		return nil, e.failed("listing the BundleDeployments of", err)
	}
	return found, nil
}

// addUnreadable adds a failure for the cluster of a deployment.
func addUnreadable(found *deploy.Imported, clusters map[string]managedCluster, d deployedRelease) {
	for name, cluster := range clusters {
		if cluster.namespace == d.Metadata.Namespace {
			found.Failures = append(found.Failures, deploy.Failure{Cluster: name, Doing: "reading the deployments", Err: d.unreadable})
		}
	}
}

// importedRecord returns the record of a deployment whose content is not known. It has no digest, so the
// next apply writes its Bundle once more. Agents have nothing to do then.
func importedRecord(d deployedRelease, uid, digest, key string) deploy.Record {
	name, namespace := d.release()
	return deploy.Record{Release: name, Namespace: namespace, Known: release.Known{
		Release: name, Namespace: namespace, Instance: d.Metadata.Labels[labelInstance], Digest: digest, UID: uid,
		Key: key, Engine: true, Imported: true, TargetNamespace: d.Spec.Options.Namespace,
	}}.With(status.Facts{Unfinished: "it was imported and not read yet"})
}
