package helm

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/retry"
)

// Inspect reports the condition of the objects of releases on the cluster.
func (c *Client) Inspect(ctx context.Context, releases []release.Inspection) []release.Finding {
	return c.inspector.inspect(ctx, releases)
}

// Await returns when the objects of a release are ready or ctx ends. It reports the objects
// that are missing or not ready then. If a cluster does not respond, Await tries again until
// ctx ends.
func (c *Client) Await(ctx context.Context, of release.Inspection) (finding release.Finding, err error) {
	return c.inspector.await(ctx, of)
}

// inspector reads the objects that release records list.
type inspector struct {
	connection   *connection
	contents     *recordReader
	capabilities *capabilityReader
}

func (n *inspector) inspect(ctx context.Context, releases []release.Inspection) []release.Finding {
	observed := make([]release.Observed, len(releases))
	for i := range releases {
		observed[i] = releases[i].Observed
	}
	var discovering sync.WaitGroup
	// Errors are ignored here: the kinds are read again when they are needed, and the error
	// occurs there.
	discovering.Go(panics.RecoveringTo(func(error) {}, "reading the kinds of the cluster", n.connection.discover))
	read := n.contents.read(ctx, releases)
	discovering.Wait()
	defer n.contents.forget(observed)
	findings := make([]release.Finding, len(releases))
	var (
		looked  []release.Inspection
		objects [][]*unstructured.Unstructured
		places  []int
	)
	for i, manifest := range read {
		if findings[i].Err = manifest.Err; manifest.Err != nil {
			continue
		}
		looked = append(looked, releases[i])
		objects = append(objects, manifest.Objects)
		places = append(places, i)
	}
	for i, finding := range n.connection.Inspect(ctx, looked, objects) {
		record := read[places[i]]
		finding.RecordChanged = record.Changed
		finding.Chart = record.Chart
		finding.Version = record.Version
		findings[places[i]] = finding
	}
	return findings
}

func (n *inspector) await(ctx context.Context, of release.Inspection) (finding release.Finding, err error) {
	first := true
	retry.Until(ctx, retry.Readiness(), func() bool {
		found, failure := n.awaitOnce(ctx, of)
		if first || ctx.Err() == nil || failure == nil {
			finding, err = found, failure
		}
		first = false
		return err == nil && finding.Settled()
	})
	return finding, err
}

func (n *inspector) awaitOnce(ctx context.Context, of release.Inspection) (release.Finding, error) {
	read := n.contents.read(ctx, []release.Inspection{of})[0]
	if read.Err != nil {
		return release.Finding{}, read.Err
	}
	finding, err := n.connection.Await(ctx, of, read.Objects)
	finding.RecordChanged = read.Changed
	if finding.Settled() && slices.ContainsFunc(read.Objects, func(o *unstructured.Unstructured) bool { return manifest.ChangesKinds(o.GetKind()) }) {
		n.capabilities.forgetKinds() // The operation that wrote the definitions did not wait for their kinds.
	}
	return finding, err
}
