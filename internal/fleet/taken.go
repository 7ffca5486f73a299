package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// TakenError reports a release that a Bundle of another owner, or of a GitRepo, delivers to the same
// cluster. The agent would install both in turn, and after the removal of one of them the objects of
// the other would be missing until the agent notices.
type TakenError struct {
	Release, Namespace string
	// By is the Bundle that delivers it.
	By string
}

func (e *TakenError) Error() string {
	return fmt.Sprintf("release %s in namespace %s is already delivered by Bundle %s, "+
		"which this owner has not made", e.Release, e.Namespace, e.By)
}

// unknownOthersError reports a cluster whose BundleDeployments are not all known.
type unknownOthersError struct{ cause error }

func (e *unknownOthersError) Error() string {
	return "whether another owner delivers the same release is not known: " + e.cause.Error()
}

func (e *unknownOthersError) Unwrap() error { return e.cause }

// Taken returns the deployments that cannot be delivered, because another owner delivers their release
// to the same cluster. It reads the management cluster only if a deployment is new, or moves. err is why
// others are not known for some deployments.
func (e *Engine) Taken(
	ctx context.Context, owner string, write []target.Deployment, prior map[deploy.Key]deploy.Record,
) (taken map[deploy.Key]error, err error) {
	arriving := arriving(write, prior)
	if len(arriving) == 0 {
		return nil, nil
	}
	c, err := e.management()
	if err != nil {
		return nil, err
	}
	clusters, err := e.listClusters(ctx, c)
	if err != nil {
		return nil, err
	}
	taken = e.taken(ctx, c, owner, arriving, clusters)
	for _, key := range slices.SortedFunc(maps.Keys(taken), deploy.Key.Compare) {
		if unknown, is := errors.AsType[*unknownOthersError](taken[key]); is {
			delete(taken, key)
			err = cmp.Or(err, unknown.cause)
		}
	}
	return taken, err
}

// arriving returns the deployments that this engine does not deliver yet, or with another release.
func arriving(write []target.Deployment, prior map[deploy.Key]deploy.Record) []target.Deployment {
	return slices.DeleteFunc(slices.Clone(write), func(d target.Deployment) bool {
		record, known := prior[deploy.KeyOf(d)]
		return known && record.Known.Engine && record.Release == d.Release && record.Namespace == d.Namespace
	})
}

// maxSelected is how many clusters a label selector names.
const maxSelected = 50

// taken returns why deployments must not be written. Clusters are read in groups, so that the limits of a
// list are those of a group.
func (e *Engine) taken(
	ctx context.Context, c *client, owner string, arriving []target.Deployment, clusters map[string]managedCluster,
) map[deploy.Key]error {
	others, names := map[string]othersOf{}, map[string]bool{}
	for _, d := range arriving {
		if namespace := clusters[d.Cluster].namespace; namespace != "" {
			others[namespace], names[d.Cluster] = othersOf{releases: map[string]string{}}, true
		}
	}
	for group := range slices.Chunk(slices.Sorted(maps.Keys(names)), maxSelected) {
		mark := release.NewMark(owner, "", "", "", "")
		selector := labelOwner + "!=" + mark.Owner + "," + labelCluster + " in (" + strings.Join(group, ",") + ")"
		err := panics.Recovering("listing BundleDeployments", func() error { return c.addOthers(ctx, selector, others) })()
		if err != nil {
			for _, name := range group {
				of := others[clusters[name].namespace]
				of.unreadable = e.failed("listing the BundleDeployments of", err)
				others[clusters[name].namespace] = of
			}
		}
	}
	found := map[deploy.Key]error{}
	for _, d := range arriving {
		of := others[clusters[d.Cluster].namespace]
		if by, is := of.releases[release.Key(d.Namespace, d.Release)]; is {
			found[deploy.KeyOf(d)] = &TakenError{Release: d.Release, Namespace: d.Namespace, By: by}
		} else if of.unreadable != nil {
			found[deploy.KeyOf(d)] = &unknownOthersError{of.unreadable}
		}
	}
	return found
}

// othersOf are the releases that other owners deliver to one cluster.
type othersOf struct {
	// releases maps releases to the Bundles that deliver them.
	releases map[string]string
	// unreadable is why not all of them are known, nil if they are.
	unreadable error
}

func (d deployedRelease) bundle() string {
	labels := d.Metadata.Labels
	return mask.PrintableLine(labels[labelBundleNamespace] + "/" + cmp.Or(labels[labelBundleName], d.Metadata.Name))
}

// addOthers adds the releases of other owners that a selector selects.
func (c *client) addOthers(ctx context.Context, selector string, others map[string]othersOf) error {
	return c.releases(ctx, selector, func(d deployedRelease) {
		of, here := others[d.Metadata.Namespace]
		switch {
		case !here:
			return
		case d.unreadable != nil:
			of.unreadable = d.unreadable
		default:
			for _, key := range d.releases() {
				of.releases[key] = d.bundle()
			}
		}
		others[d.Metadata.Namespace] = of
	})
}
