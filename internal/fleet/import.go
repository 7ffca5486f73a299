package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/run"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// Import reads the deployments of a target from its Bundles, also those that Fleet has not created yet.
// only are the clusters to import from, nil for all.
func (e *Engine) Import(ctx context.Context, owner, target string, only []string) (*run.Imported, error) {
	c, err := e.management()
	if err != nil {
		return nil, err
	}
	clusters, err := e.listClusters(ctx, c)
	if err != nil {
		return nil, err
	}
	found := run.NewImported(owner)
	for _, name := range only {
		if _, known := clusters[name]; !known {
			found.Failures = append(found.Failures, deploy.Failure{Cluster: name, Doing: "reading the cluster", Err: errNotInFleet})
		}
	}
	named, reading := release.NewMark(owner, target, "", "", ""), &store{engine: e, client: c, instances: map[string]bool{}}
	bundles := map[string]release.Mark{}
	err = e.listBundles(ctx, c, labelOwner+"="+named.Owner+","+labelTarget+"="+named.Target, func(of metadata) {
		bundles[of.Name] = markOf(of.Labels)
		reading.instances[of.Labels[labelInstance]] = true
	})
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(bundles)) {
		marked := bundles[name]
		read, err := reading.read(ctx, name, marked.Bundle, marked.Owner)
		if err != nil {
			return nil, err
		}
		if read == nil { // It was deleted in the meantime.
			continue
		}
		for cluster, of := range read.content.entries {
			if only != nil && !slices.Contains(only, cluster) {
				continue
			}
			record, err := importedRecord(marked, of, clusters[cluster].uid, found.Key)
			if err != nil {
				return nil, fmt.Errorf("reading cluster %s in Bundle %s/%s: %w", cluster, e.settings.Namespace, name, err)
			}
			found.Add(cluster, record, marked)
		}
	}
	return found, nil
}

var (
	errNotInFleet     = errors.New("the Fleet has no Cluster of this name")
	errWithoutRelease = errors.New("it names no release and namespace, so another client has changed the Bundle; " +
		"remove the entry of the cluster from spec.targets, and import again")
)

// importedRecord returns the record of a deployment whose content is not known. It has no digest, so the
// next apply writes its Bundle once more. Agents have nothing to do then.
func importedRecord(mark release.Mark, of entry, uid, key string) (deploy.Record, error) {
	var options releaseOptions
	if err := convert(of.options, &options); err != nil {
		return deploy.Record{}, err
	}
	if options.Helm.ReleaseName == "" || options.DefaultNamespace == "" {
		return deploy.Record{}, errWithoutRelease
	}
	known := release.Known{
		Release: options.Helm.ReleaseName, Namespace: options.DefaultNamespace, Instance: mark.Instance, Digest: of.digest, UID: uid,
		Key: key, Engine: true, Imported: true, TargetNamespace: options.Namespace,
	}
	record := deploy.Record{Release: known.Release, Namespace: known.Namespace, Known: known}
	return record.With(status.Facts{Unfinished: "it was imported and not read yet"}), nil
}
