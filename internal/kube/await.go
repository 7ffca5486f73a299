package kube

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// Await returns when the objects of a release are ready, or ctx ends. It compares objects as
// Inspect does. The finding lists the objects that are missing or not ready. All others count as
// ready, even if they are modified or belong to another release. Await returns at once when the
// cluster does not have a kind, because the kind may be added a moment later.
func (c *Client) Await(ctx context.Context, of release.Inspection, wanted []*unstructured.Unstructured) (release.Finding, error) {
	parts, err := c.parts(ctx, of.Observed.Namespace, wanted)
	if err != nil {
		return release.Finding{}, err
	}
	by, err := newComparer(of, parts)
	if err != nil {
		return release.Finding{}, err
	}
	var (
		finding release.Finding
		objects []*resource.Info
		health  = health{by: by, parts: map[*resource.Info]manifestObject{}}
	)
	for _, p := range parts {
		if p.info.Mapping.Resource.Resource == "" {
			if err := by.compare(&finding, p, readResult{}); err != nil {
				return release.Finding{}, err
			}
			continue
		}
		health.parts[p.info] = p
		objects = append(objects, p.info)
	}
	v := newWaiter(c, objects, health)
	if finding.Settled() {
		if err = v.wait(ctx, v.pending); err == nil {
			err = c.waitServed(ctx, v.definitions)
		}
	} else {
		v.poll(ctx, v.pending)
		err = v.result(ctx)
	}
	if unsettled, ok := errors.AsType[*unsettledError](err); ok {
		finding.Missing = append(finding.Missing, unsettled.finding.Missing...)
		finding.NotReady, err = unsettled.finding.NotReady, nil
	}
	if unserved, ok := errors.AsType[*NotReadyError](err); ok {
		for _, object := range unserved.Objects {
			finding.NotReady = append(finding.NotReady, object.unready())
		}
		err = nil
	}
	finding.Ready = len(parts) - len(finding.Missing) - len(finding.NotReady)
	return finding, err
}

// health is the waitCondition of Await: the objects of a release are ready. Another process may
// have written them.
type health struct {
	by    comparer
	parts map[*resource.Info]manifestObject
}

func (h health) evaluate(object *resource.Info, got readResult) (release.Finding, bool, error) {
	var finding release.Finding
	err := h.by.compare(&finding, h.parts[object], got)
	return finding, finding.Settled() && err == nil, err
}

func (h health) timeoutError(left []release.Finding) error {
	var all release.Finding
	for _, of := range left {
		all.Missing = append(all.Missing, of.Missing...)
		all.NotReady = append(all.NotReady, of.NotReady...)
	}
	return &unsettledError{finding: all}
}

func (health) isHopeless([]release.Finding, time.Time) bool { return false }

func (health) nextCheck() time.Time { return time.Time{} }

// unsettledError lists the objects that are missing or not ready.
type unsettledError struct{ finding release.Finding }

func (e *unsettledError) Error() string { return "objects are missing or not ready" }
