package helm

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/helm/storage"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// Deployed reads what upgrades of releases are merged from, in their order.
func (c *Client) Deployed(ctx context.Context, releases []release.Claimed) []release.Deployed {
	verified := make([]release.Inspection, len(releases))
	for i, of := range releases {
		verified[i].Observed = of.Observed
		verified[i].Proof, _ = of.By.ProofOf(of.Observed)
	}
	found := make([]release.Deployed, len(releases))
	for i, newest := range c.contents.read(ctx, verified) {
		found[i] = c.deployed(ctx, releases[i], newest)
	}
	return found
}

func (c *Client) deployed(ctx context.Context, of release.Claimed, newest storage.Content) release.Deployed {
	if newest.Err != nil {
		return release.Deployed{Err: newest.Err}
	}
	if newest.Changed {
		return release.Deployed{Err: release.ErrRecordChanged}
	}
	former, contents, err := c.former(ctx, of)
	if err != nil {
		return release.Deployed{Err: err}
	}
	contents = append([]storage.Content{newest}, contents...)
	var found release.Deployed
	objects := make([][]*unstructured.Unstructured, len(contents))
	for i, mark := range append([]release.Mark{of.Observed.Mark}, former...) {
		revision := release.Revision{Mark: mark}
		if values := contents[i].Values; len(values) > 0 {
			if err := json.Unmarshal(values, &revision.Values); err != nil {
				return release.Deployed{Err: fmt.Errorf("reading the values in the release record: %w", err)}
			}
		}
		objects[i], found.Revisions = contents[i].Objects, append(found.Revisions, revision)
	}
	found.Documents, found.Err = manifest.Documents(manifest.Union(of.Observed.Namespace, objects...), newest.Hooks, of.Observed.Namespace)
	return found
}

// former reads the revisions before the newest that the objects of a release can come from. Only a
// release whose newest revision has failed has any.
func (c *Client) former(ctx context.Context, of release.Claimed) ([]release.Mark, []storage.Content, error) {
	if of.Observed.Failed == 0 || of.Observed.Failed > release.MaxFailed {
		return nil, nil, nil
	}
	history, err := c.records.history(ctx, of.Observed.Namespace, of.Observed.Release)
	if err != nil {
		return nil, nil, err
	}
	var (
		marks    []release.Mark
		contents []storage.Content
		size     int
	)
	for _, revision := range release.Distinct(release.Base(history)) {
		proof, isProven := of.By.ProofOf(revision)
		if !isProven || revision.Revision >= of.Observed.Revision {
			continue
		}
		read := c.contents.read(ctx, []release.Inspection{{Observed: revision, Proof: proof}})[0]
		if read.Err != nil {
			return nil, nil, read.Err
		}
		if read.Changed {
			continue
		}
		marks, contents = append(marks, revision.Mark), append(contents, read)
		if size += read.Size; size > storage.MaxBase {
			return nil, nil, storage.BaseTooLarge(revision)
		}
	}
	return marks, contents, nil
}
