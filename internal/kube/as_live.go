package kube

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// Compare reads the live objects that releases are to have, all together, and returns both sides
// for each release. The same fields count as for drift.
func (c *Client) Compare(ctx context.Context, releases []release.Comparison) []release.Compared {
	wanted := make([]wantedRelease, len(releases))
	for i, of := range releases {
		wanted[i].namespace = of.Namespace
		wanted[i].objects, wanted[i].err = wantedObjects(of.Documents)
	}
	compared := make([]release.Compared, len(releases))
	for i, live := range readReleases(ctx, c, wanted) {
		if compared[i].Err = live.err; live.err == nil {
			compared[i] = compareAll(releases[i], live)
		}
	}
	return compared
}

// wantedObjects returns the objects of documents, without hooks.
func wantedObjects(documents []diff.Document) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, document := range documents {
		if document.Hook {
			continue
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON([]byte(document.Content)); err != nil {
			return nil, fmt.Errorf("reading %s: %w", document.Key(), err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// compareAll returns both sides of the objects of one release.
func compareAll(of release.Comparison, live liveRelease) release.Compared {
	compiled, err := compileRules(of.Rules)
	if err != nil {
		return release.Compared{Err: err}
	}
	var both release.Compared
	scaled := scalers(live.parts)
	for _, p := range live.parts {
		got := live.seen[p.info]
		if of.Wrote != nil && !countsAsDrift(p, got, compiled, of.Wrote.Observed) {
			continue
		}
		if got.err != nil {
			return release.Compared{Err: got.err}
		}
		wanted := p.wanted
		if got.object != nil {
			wanted = scaled.withoutReplicas(wanted, got.object)
		}
		if wanted, err = compiled.normalize(wanted); err != nil {
			return release.Compared{Err: err}
		}
		if err := addSides(&both, p, wanted, got.object, compiled, of.Wrote); err != nil {
			return release.Compared{Err: err}
		}
	}
	return both
}

// addSides adds the document of a wanted object, and that of the live object if it exists.
func addSides(
	both *release.Compared, p manifestObject, wanted, live *unstructured.Unstructured, compiled rules, wrote *release.Inspection,
) error {
	after, err := documentOf(p, contentOf(wanted))
	if err != nil {
		return err
	}
	both.After = append(both.After, after)
	if live == nil {
		return nil
	}
	if live, err = compiled.normalize(live); err != nil {
		return err
	}
	accepts := func(release.Difference) bool { return false }
	if wrote != nil {
		accepts = func(d release.Difference) bool { return isAccepted(wrote.Accepted, describe(p.info), d) }
	}
	before, err := documentOf(p, asLive(wanted, live, accepts))
	if err == nil {
		both.Before = append(both.Before, before)
	}
	return err
}

// countsAsDrift reports whether an object can differ from what its release has written.
func countsAsDrift(p manifestObject, got readResult, compiled rules, by release.Observed) bool {
	switch {
	case got.err != nil:
		return !apierrors.IsForbidden(got.err)
	case got.object == nil:
		return !compiled.ignoresMissing(p.wanted) && !isTemporary(p)
	}
	return owningRelease(got.object, by) == ""
}

// documentOf returns a content that contentOf made as a document. The data of a Secret is decoded
// there, so it is written as stringData.
func documentOf(p manifestObject, content map[string]any) (diff.Document, error) {
	if data, ok := content["data"]; ok && isSecret(p.wanted) {
		content["stringData"] = data
		delete(content, "data")
	}
	text, err := json.Marshal(content)
	if err != nil {
		return diff.Document{}, fmt.Errorf("writing %s: %w", describe(p.info), err)
	}
	kind := p.wanted.GroupVersionKind()
	return diff.Document{
		Object:  diff.Object{Group: kind.Group, Kind: kind.Kind, Namespace: p.info.Namespace, Name: p.info.Name},
		Content: string(text),
	}, nil
}
