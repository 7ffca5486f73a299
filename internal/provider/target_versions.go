package provider

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// versionsKey is where a target keeps the versions of the objects on clusters that
// values come from. Read finds them out, and planning takes them from there, so
// that another version is a change that the plan shows.
const versionsKey = "versions"

// versions are those of objects, by cluster.
type versions map[string]deploy.Versions

// storedVersion is one of them in JSON.
type storedVersion struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Version   string `json:"version"`
}

func readVersions(ctx context.Context, private privateReader, diags *diag.Diagnostics) versions {
	raw, found := private.GetKey(ctx, versionsKey)
	diags.Append(found...)
	stored := map[string][]storedVersion{}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &stored); err != nil {
			diags.AddError("Cannot read what is known of the objects that values come from", sentence(err))
		}
	}
	known := versions{}
	for cluster, list := range stored {
		known[cluster] = deploy.Versions{}
		for _, item := range list {
			known[cluster][target.Reference{Kind: item.Kind, Namespace: item.Namespace, Name: item.Name}] = item.Version
		}
	}
	return known
}

func (v versions) write(ctx context.Context, private privateWriter, diags *diag.Diagnostics) {
	stored := map[string][]storedVersion{}
	for cluster, list := range v {
		for reference, version := range list {
			stored[cluster] = append(stored[cluster], storedVersion{reference.Kind, reference.Namespace, reference.Name, version})
		}
		slices.SortFunc(stored[cluster], func(a, b storedVersion) int {
			return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
		})
	}
	raw, err := json.Marshal(stored)
	if err != nil {
		diags.AddError("Cannot store what is known of the objects that values come from", sentence(err))
		return
	}
	diags.Append(private.SetKey(ctx, versionsKey, raw)...)
}

func (v versions) equal(other versions) bool {
	return maps.EqualFunc(v, other, maps.Equal[deploy.Versions, deploy.Versions])
}

// pin settles the digests of deployments whose values come from their cluster.
func (v versions) pin(deployments []target.Deployment) {
	for i, d := range deployments {
		deployments[i] = d.Pinned(v[d.Cluster])
	}
}

// refreshVersions looks again at the objects that values come from. What cannot be
// looked at keeps its version.
func (f *fleet) refreshVersions(ctx context.Context, before privateReader, after privateWriter, diags *diag.Diagnostics) {
	known := readVersions(ctx, before, diags)
	references := map[string][]target.Reference{}
	for cluster, list := range known {
		if !f.expectsNoAnswer(cluster) {
			references[cluster] = slices.Collect(maps.Keys(list))
		}
	}
	now := maps.Clone(known)
	maps.Copy(now, f.engine.Versions(ctx, references))
	if !now.equal(known) {
		now.write(ctx, after, diags)
	}
}

// rememberVersions stores the versions of what is deployed now.
func rememberVersions(ctx context.Context, private privateWriter, known versions, found map[string]deploy.Versions, wanted []target.Deployment, diags *diag.Diagnostics) {
	now := versions{}
	for _, d := range wanted {
		for _, reference := range d.References() {
			version, ok := found[d.Cluster][reference]
			if !ok {
				version, ok = known[d.Cluster][reference]
			}
			if !ok {
				continue
			}
			if now[d.Cluster] == nil {
				now[d.Cluster] = deploy.Versions{}
			}
			now[d.Cluster][reference] = version
		}
	}
	if !now.equal(known) {
		now.write(ctx, private, diags)
	}
}
