package kube

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// Await returns when the objects of a release are ready, or ctx ends. It compares objects as
// Inspect does. The finding lists the objects that are missing or not ready. All others count as
// ready, even if they are modified or belong to another release. Await returns at once when the
// cluster does not have a kind, because the kind may be added a moment later.
func (c *Client) Await(ctx context.Context, inspected release.Inspection, wanted []*unstructured.Unstructured) (release.Finding, error) {
	parts, err := c.parts(ctx, inspected.Observed.Namespace, wanted)
	if err != nil {
		return release.Finding{}, err
	}
	by, err := newComparer(inspected, parts)
	if err != nil {
		return release.Finding{}, err
	}
	var (
		finding release.Finding
		objects []*resource.Info
		of      = map[*resource.Info]manifestObject{}
	)
	for _, p := range parts {
		if p.info.Mapping.Resource.Resource == "" {
			if err := by.compare(&finding, p, readResult{}); err != nil {
				return release.Finding{}, err
			}
			continue
		}
		of[p.info] = p
		objects = append(objects, p.info)
	}
	w := newWaiter(c, objects, func(object *resource.Info, got readResult) (release.Finding, bool, error) {
		var found release.Finding
		err := by.compare(&found, of[object], got)
		return found, found.Settled() && err == nil, err
	})
	var (
		unmet    []release.Finding
		unserved []Condition
	)
	if finding.Settled() {
		if unmet, err = w.wait(ctx, w.pending); err == nil && len(unmet) == 0 {
			unserved, err = c.waitServed(ctx, w.definitions)
		}
	} else {
		w.poll(ctx, w.pending)
		unmet, err = w.result(ctx)
	}
	for _, of := range unmet {
		finding.Missing = append(finding.Missing, of.Missing...)
		finding.NotReady = append(finding.NotReady, of.NotReady...)
	}
	for _, condition := range unserved {
		finding.NotReady = append(finding.NotReady, condition.unready())
	}
	finding.Ready = len(parts) - len(finding.Missing) - len(finding.NotReady)
	return finding, err
}
