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
	observed := make([]release.Observed, len(releases))
	for i := range releases {
		observed[i] = releases[i].Observed
	}
	var discovering sync.WaitGroup
	// Errors are ignored here: the kinds are read again when they are needed, and the error
	// occurs there.
	discovering.Go(panics.RecoveringTo(func(error) {}, "reading the kinds of the cluster", c.connection.discover))
	read := c.contents.read(ctx, releases)
	discovering.Wait()
	defer c.contents.forget(observed)
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
	for i, finding := range c.connection.Inspect(ctx, looked, objects) {
		record := read[places[i]]
		finding.RecordChanged = record.Changed
		finding.Chart = record.Chart
		finding.Version = record.Version
		findings[places[i]] = finding
	}
	return findings
}

// Await returns when the objects of a release are ready or ctx ends. It reports the objects
// that are missing or not ready then. If a cluster does not respond, Await tries again until
// ctx ends.
func (c *Client) Await(ctx context.Context, of release.Inspection) (finding release.Finding, err error) {
	first := true
	retry.Until(ctx, retry.Readiness(), func() bool {
		found, failure := c.awaitOnce(ctx, of)
		if first || ctx.Err() == nil || failure == nil {
			finding, err = found, failure
		}
		first = false
		return err == nil && finding.Settled()
	})
	return finding, err
}

func (c *Client) awaitOnce(ctx context.Context, of release.Inspection) (release.Finding, error) {
	read := c.contents.read(ctx, []release.Inspection{of})[0]
	if read.Err != nil {
		return release.Finding{}, read.Err
	}
	finding, err := c.connection.Await(ctx, of, read.Objects)
	finding.RecordChanged = read.Changed
	changesKinds := func(o *unstructured.Unstructured) bool { return manifest.ChangesKinds(o.GetKind()) }
	if finding.Settled() && slices.ContainsFunc(read.Objects, changesKinds) {
		c.capabilities.forgetKinds() // The operation that wrote the definitions did not wait for their kinds.
	}
	return finding, err
}
