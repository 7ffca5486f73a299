package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// looksKey is where a target keeps what a refresh needs to judge live objects, as it
// is given no bundles: the rules of each deployment, and what was seen of its objects.
// Planning takes from there whether something has to be put right.
const looksKey = "looks"

// looks are kept for deployments of which there is something to say: an ordinary one,
// with all objects ready and no rules, takes no room.
type looks struct {
	// Rules are the different ones; many deployments share them.
	Rules []release.Rules `json:"rules,omitempty"`
	// Usual is how many objects a deployment of each bundle has, where the state does
	// not show them.
	Usual       map[string]int  `json:"usual,omitempty"`
	Deployments map[string]look `json:"deployments,omitempty"`
}

// look is kept of one deployment.
type look struct {
	// Rules is the place of its rules in the list, from 1; 0 is none.
	Rules int `json:"rules,omitempty"`
	// Counts are set unless every object of an ordinary deployment is ready.
	Counts *status.Counts    `json:"counts,omitempty"`
	Stored map[string]string `json:"stored,omitempty"`
}

// looksOf keeps what there is to say of records, given whether the state shows their
// objects.
func looksOf(records map[deploy.Key]deploy.Record, shown bool) looks {
	var kept looks
	keys := make([]deploy.Key, 0, len(records))
	for key := range records {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, compareKeys)
	if !shown {
		kept.Usual = usual(keys, records)
	}
	for _, key := range keys {
		record := records[key]
		made := look{Stored: record.Stored}
		if !record.Rules.IsZero() {
			made.Rules = 1 + slices.IndexFunc(kept.Rules, record.Rules.Equal)
			if made.Rules == 0 {
				kept.Rules = append(kept.Rules, record.Rules)
				made.Rules = len(kept.Rules)
			}
		}
		if !shown {
			record.Objects = nil
		}
		if record.Counts != kept.ordinary(key.Bundle, record) {
			made.Counts = &record.Counts
		}
		if made.Rules == 0 && made.Counts == nil && len(made.Stored) == 0 {
			continue
		}
		if kept.Deployments == nil {
			kept.Deployments = map[string]look{}
		}
		kept.Deployments[key.String()] = made
	}
	return kept
}

// usual is how many objects the deployments of each bundle have, going by the first one
// whose objects are all ready.
func usual(keys []deploy.Key, records map[deploy.Key]deploy.Record) map[string]int {
	found := map[string]int{}
	for _, key := range keys {
		counts := records[key].Counts
		if _, known := found[key.Bundle]; !known && counts == (status.Counts{Ready: counts.Ready}) {
			found[key.Bundle] = counts.Ready
		}
	}
	return found
}

// ordinary are the counts of a deployment whose objects are all ready.
func (l looks) ordinary(bundle string, record deploy.Record) status.Counts {
	if usual, known := l.Usual[bundle]; known {
		return status.Counts{Ready: usual}
	}
	return status.Counts{Ready: len(record.Objects)}
}

// on adds to a record what is kept of it.
func (l looks) on(key string, record deploy.Record) deploy.Record {
	kept := l.Deployments[key]
	_, bundle, _ := strings.Cut(key, "/")
	record.Counts, record.Stored = l.ordinary(bundle, record), kept.Stored
	if kept.Counts != nil {
		record.Counts = *kept.Counts
	}
	if kept.Rules > 0 && kept.Rules <= len(l.Rules) {
		record.Rules = l.Rules[kept.Rules-1]
	}
	return record
}

func readLooks(ctx context.Context, private privateReader, diags *diag.Diagnostics) looks {
	raw, found := private.GetKey(ctx, looksKey)
	diags.Append(found...)
	var kept looks
	if len(raw) == 0 {
		return kept
	}
	if err := json.Unmarshal(raw, &kept); err != nil {
		diags.AddError("Cannot read what is known of the objects of deployments", sentence(err))
	}
	return kept
}

// rememberLooks stores what is kept of records, if it is not what is stored already.
func rememberLooks(ctx context.Context, before looks, private privateWriter, records map[deploy.Key]deploy.Record, shown bool, diags *diag.Diagnostics) {
	known, err := json.Marshal(before)
	if err != nil {
		diags.AddError("Cannot compare what is known of the objects of deployments", sentence(err))
		return
	}
	now, err := json.Marshal(looksOf(records, shown))
	if err != nil {
		diags.AddError("Cannot store what is known of the objects of deployments", sentence(err))
		return
	}
	if !bytes.Equal(known, now) {
		diags.Append(private.SetKey(ctx, looksKey, now)...)
	}
}
