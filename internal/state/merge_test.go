package state_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube/connect"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/state"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Bundles that still exist although no one wants them any more keep their order. The order is
// stored when it changed.
func TestMergeNeeds(t *testing.T) {
	t.Parallel()
	there := map[deploy.Key]deploy.Record{{Cluster: "a", Bundle: "left"}: {}, {Cluster: "a", Bundle: "web"}: {}}
	tests := map[string]struct {
		before, wanted map[string][]string
		want           map[string][]string
		stored         bool
	}{
		"none":    {},
		"new":     {wanted: map[string][]string{"web": {"db"}}, want: map[string][]string{"web": {"db"}}, stored: true},
		"as ever": {before: map[string][]string{"web": {"db"}}, wanted: map[string][]string{"web": {"db"}}, want: map[string][]string{"web": {"db"}}},
		"what could not be removed": {
			before: map[string][]string{"left": {"db"}, "gone": {"db"}}, wanted: map[string][]string{"web": {"db"}},
			want: map[string][]string{"web": {"db"}, "left": {"db"}}, stored: true,
		},
		"no more": {before: map[string][]string{"gone": {"db"}}, want: map[string][]string{}, stored: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := reloaded(t, state.Private{Needs: test.before})
			after := before
			after.Needs = state.MergeNeeds(before.Needs, test.wanted, there)
			entry, err := before.Changed(after)
			if stored := entry != nil; err != nil || stored != test.stored {
				t.Fatalf("stored: %t, want %t: %v", stored, test.stored, err)
			}
			if diff := cmp.Diff(test.want, reloaded(t, after).Needs, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("needs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMergeUIDs(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		known, found map[string]string
		want         map[string]string
		replaced     []string
	}{
		"first":          {found: map[string]string{"a": "1"}, want: map[string]string{"a": "1"}},
		"the same":       {known: map[string]string{"a": "1"}, found: map[string]string{"a": "1"}, want: map[string]string{"a": "1"}},
		"another":        {known: map[string]string{"b": "1", "a": "1"}, found: map[string]string{"b": "2", "a": "2"}, want: map[string]string{"a": "2", "b": "2"}, replaced: []string{"a", "b"}},
		"no answer":      {known: map[string]string{"a": "1"}, want: map[string]string{"a": "1"}},
		"shows none":     {known: map[string]string{"a": "1"}, found: map[string]string{"a": "", "b": ""}, want: map[string]string{"a": "1"}},
		"one more known": {known: map[string]string{"a": "1"}, found: map[string]string{"b": "2"}, want: map[string]string{"a": "1", "b": "2"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, replaced := state.MergeUIDs(test.known, test.found)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("identities (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.replaced, replaced); diff != "" {
				t.Errorf("replaced (-want +got):\n%s", diff)
			}
		})
	}
}

func TestExpectedUIDs(t *testing.T) {
	t.Parallel()
	records := map[deploy.Key]deploy.Record{
		{Cluster: "recorded", Bundle: "x"}:   {Known: release.Known{UID: "record"}},
		{Cluster: "recorded", Bundle: "y"}:   {},
		{Cluster: "found", Bundle: "x"}:      {Known: release.Known{UID: "record"}},
		{Cluster: "silent", Bundle: "x"}:     {Known: release.Known{UID: "record"}},
		{Cluster: "configured", Bundle: "x"}: {Known: release.Known{UID: "record"}},
	}
	found := map[string]string{"found": "found", "silent": "", "configured": "found"}
	got := state.ExpectedUIDs(records, found, map[string]string{"configured": "configuration", "new": "configuration"})
	want := map[string]string{"recorded": "record", "found": "found", "silent": "record", "configured": "configuration", "new": "configuration"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMergeConnections(t *testing.T) {
	t.Parallel()
	type configured struct {
		entry      state.Entry
		connection connect.Connection
	}
	before, now := connect.Connection{Host: "https://before"}, connect.Connection{Host: "https://now"}
	tests := map[string]struct {
		known map[string]connect.Connection
		of    configured
		want  map[string]connect.Connection
	}{
		"new":                         {of: configured{state.EntryKnown, now}, want: map[string]connect.Connection{"a": {Host: "https://now"}}},
		"changed":                     {known: map[string]connect.Connection{"a": before}, of: configured{state.EntryKnown, now}, want: map[string]connect.Connection{"a": {Host: "https://now"}}},
		"the entry is removed":        {known: map[string]connect.Connection{"a": before}, of: configured{entry: state.EntryRemoved}, want: map[string]connect.Connection{"a": before}},
		"removed and never known":     {of: configured{entry: state.EntryRemoved}},
		"not known yet":               {known: map[string]connect.Connection{"a": before}, of: configured{entry: state.EntryUnknown}},
		"with a token":                {known: map[string]connect.Connection{"a": before}, of: configured{state.EntryKnown, connect.Connection{Host: "https://now", Token: secret.Hide("t")}}},
		"without a deployment on it":  {known: map[string]connect.Connection{"b": before}, of: configured{state.EntryKnown, now}, want: map[string]connect.Connection{"a": {Host: "https://now"}}},
		"a user in the address of it": {of: configured{state.EntryKnown, connect.Connection{Host: "https://me:x@now"}}}, //nolint:gosec // no real password
	}
	records := map[deploy.Key]deploy.Record{{Cluster: "a", Bundle: "x"}: {}, {Cluster: "a", Bundle: "y"}: {}}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := state.MergeConnections(test.known, records, func(string) (state.Entry, connect.Connection) { return test.of.entry, test.of.connection })
			if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMergeOrphans(t *testing.T) {
	t.Parallel()
	known, found := []deploy.Orphan{{Cluster: "a", Namespace: "ns", Release: "known"}}, []deploy.Orphan{{Cluster: "a", Release: "found"}}
	listed := func(namespaces ...string) map[string][]string {
		return map[string][]string{"a": namespaces, "b": {"ns"}}
	}
	tests := map[string]struct {
		observation deploy.Observation
		want        []deploy.Orphan
	}{
		"all were seen":           {observation: deploy.Observation{AllSeen: true, Orphans: found}, want: found},
		"all were seen, and none": {observation: deploy.Observation{AllSeen: true}},
		"its namespace was seen":  {observation: deploy.Observation{AllSeen: true, Orphans: found, Listed: listed("ns")}, want: found},
		"its namespace was not":   {observation: deploy.Observation{AllSeen: true, Orphans: found, Listed: listed("other")}, want: append(known, found...)},
		"one did not answer":      {observation: deploy.Observation{Orphans: found}, want: known},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, state.MergeOrphans(known, test.observation)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// reading returns a deployment on a cluster with values from the named ConfigMaps.
func reading(cluster string, names ...string) target.Deployment {
	options := fleetyaml.Options{Helm: &fleetyaml.Helm{}}
	for _, name := range names {
		options.Helm.ValuesFrom = append(options.Helm.ValuesFrom, fleetyaml.ValuesFrom{ConfigMapKeyRef: &fleetyaml.KeyRef{Namespace: "ns", Name: name, Key: "k"}})
	}
	return target.Deployment{Cluster: cluster, Bundle: &bundle.Bundle{Name: "x"}, Namespace: "ns", Options: options}
}

func configMap(name string) target.Reference {
	return target.Reference{Kind: "ConfigMap", Namespace: "ns", Name: name}
}

func TestObjectVersionsAfterAnApply(t *testing.T) {
	t.Parallel()
	known := state.ObjectVersions{"a": {configMap("one"): "1", configMap("two"): "1"}, "b": {configMap("one"): "1"}}
	tests := map[string]struct {
		found  map[string]deploy.Versions
		wanted []target.Deployment
		want   state.ObjectVersions
	}{
		"nothing is wanted":       {},
		"what is named no more":   {wanted: []target.Deployment{reading("a", "one")}, want: state.ObjectVersions{"a": {configMap("one"): "1"}}},
		"another version":         {found: map[string]deploy.Versions{"a": {configMap("one"): "2"}}, wanted: []target.Deployment{reading("a", "one", "two")}, want: state.ObjectVersions{"a": {configMap("one"): "2", configMap("two"): "1"}}},
		"on a further cluster":    {found: map[string]deploy.Versions{"c": {configMap("one"): "1"}}, wanted: []target.Deployment{reading("c", "one")}, want: state.ObjectVersions{"c": {configMap("one"): "1"}}},
		"never looked at":         {wanted: []target.Deployment{reading("a", "three")}},
		"found and named nowhere": {found: map[string]deploy.Versions{"a": {configMap("three"): "1"}}, wanted: []target.Deployment{reading("a")}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, known.Applied(test.found, test.wanted), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestObjectVersionsAfterARefresh(t *testing.T) {
	t.Parallel()
	known := state.ObjectVersions{"a": {configMap("one"): "1"}, "down": {configMap("one"): "1"}, "removed": {configMap("one"): "1"}}
	references := known.References(func(cluster string) bool { return cluster != "removed" })
	if diff := cmp.Diff(map[string][]target.Reference{"a": {configMap("one")}, "down": {configMap("one")}}, references); diff != "" {
		t.Errorf("references (-want +got):\n%s", diff)
	}
	want := state.ObjectVersions{"a": {configMap("one"): "2"}, "down": {configMap("one"): "1"}, "removed": {configMap("one"): "1"}}
	if diff := cmp.Diff(want, known.Refreshed(map[string]deploy.Versions{"a": {configMap("one"): "2"}})); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	if known["a"][configMap("one")] != "1" {
		t.Error("what was loaded is changed")
	}
}
