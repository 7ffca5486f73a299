package provider

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
)

// What a target keeps in private state.
const (
	createLegKey = "create_leg"
	clustersKey  = "clusters"
)

// remembered is what a target keeps beside its state.
type remembered struct {
	// create says that no state knows the target yet, nor did one that it replaces.
	create bool

	versions    versions
	uids        map[string]string // identities of clusters
	connections connections
	abilities   abilities
	needs       map[string][]string // the bundles that each bundle was deployed after
}

func readRemembered(ctx context.Context, private privateReader, diags *diag.Diagnostics) remembered {
	return remembered{
		versions:    readVersions(ctx, private, diags),
		uids:        readClusters(ctx, private, diags),
		connections: readConnections(ctx, private, diags),
		abilities:   readAbilities(ctx, private, diags),
		needs:       readNeeds(ctx, private, diags),
	}
}

// expectedUIDs are the identities that clusters must have when they are written: as the
// provider's configuration names them, as the last refresh saw them, or as the state has
// them.
func (f *fleet) expectedUIDs(seen map[string]string, records map[deploy.Key]deploy.Record) map[string]string {
	expected := map[string]string{}
	for key, record := range records {
		expected[key.Cluster] = cmp.Or(expected[key.Cluster], record.Known.UID)
	}
	for cluster, uid := range seen {
		expected[cluster] = cmp.Or(uid, expected[cluster])
	}
	for name, cluster := range f.clusters {
		if cluster.uid != "" {
			expected[name] = cluster.uid
		}
	}
	return expected
}

// createLeg is what the plan of a create leaves for the Delete that may come
// before it. Terraform replaces a tainted target by Delete and Create, and a
// target is tainted whenever one of its deployments failed at first. That
// Delete must not uninstall what Create wants: Create adopts it.
type createLeg struct {
	Planned bool `json:"planned"`
	// Target is the name of the target that is created.
	Target string `json:"target,omitempty"`
	// Wanted are the releases that Create wants, as namespace/name by the key of the
	// deployment. One that is elsewhere now is Create's to move.
	Wanted map[string]string `json:"releases,omitempty"`
	// Unknown says that they are not known yet, so that any may be wanted.
	Unknown bool `json:"unknown,omitempty"`
}

// removals are the deployments that a Delete has to remove.
func (l createLeg) removals(records map[deploy.Key]deploy.Record) []deploy.Key {
	var removals []deploy.Key
	for key := range records {
		_, wanted := l.Wanted[key.String()]
		if l.Planned && (wanted || l.Unknown) {
			continue
		}
		removals = append(removals, key)
	}
	return removals
}

func (l createLeg) write(ctx context.Context, private privateWriter) diag.Diagnostics {
	raw, err := json.Marshal(l)
	if err != nil {
		return diag.Diagnostics{diag.NewErrorDiagnostic("Cannot store what is planned", sentence(err))}
	}
	return private.SetKey(ctx, createLegKey, raw)
}

func clearCreateLeg(ctx context.Context, private privateWriter) diag.Diagnostics {
	return createLeg{}.write(ctx, private)
}

func readCreateLeg(ctx context.Context, private privateReader) (createLeg, diag.Diagnostics) {
	raw, diags := private.GetKey(ctx, createLegKey)
	var leg createLeg
	if len(raw) == 0 {
		return leg, diags
	}
	if err := json.Unmarshal(raw, &leg); err != nil {
		diags.AddError("Cannot read what was planned", sentence(err))
	}
	return leg, diags
}

// rememberClusters compares the identities of clusters with those they had, and
// stores them when they changed.
func rememberClusters(ctx context.Context, stored privateReader, private privateWriter, uids map[string]string, diags *diag.Diagnostics) {
	known := readClusters(ctx, stored, diags)
	if diags.HasError() {
		return
	}
	updated := maps.Clone(known)
	for name, uid := range uids {
		if uid == "" {
			continue
		}
		if before, ok := known[name]; ok && before != uid {
			diags.AddWarning(fmt.Sprintf("Cluster %s is another cluster than before", name),
				"Its connection now leads to a cluster with another identity. What it lacks is planned as to be added; nothing is removed from the former one.")
		}
		updated[name] = uid
	}
	if !maps.Equal(known, updated) {
		diags.Append(writeClusters(ctx, private, updated)...)
	}
}

// readClusters answers the identities that clusters had when they were last looked
// at.
func readClusters(ctx context.Context, stored privateReader, diags *diag.Diagnostics) map[string]string {
	raw, found := stored.GetKey(ctx, clustersKey)
	diags.Append(found...)
	known := map[string]string{}
	if len(raw) == 0 {
		return known
	}
	if err := json.Unmarshal(raw, &known); err != nil {
		diags.AddError("Cannot read the identities of clusters", sentence(err))
	}
	return known
}

func writeClusters(ctx context.Context, private privateWriter, uids map[string]string) diag.Diagnostics {
	raw, err := json.Marshal(uids)
	if err != nil {
		return diag.Diagnostics{diag.NewErrorDiagnostic("Cannot store the identities of clusters", sentence(err))}
	}
	return private.SetKey(ctx, clustersKey, raw)
}
