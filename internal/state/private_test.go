package state_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube/connect"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/state"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

func load(t *testing.T, entry []byte) state.Private {
	t.Helper()
	private, err := state.Load(entry)
	if err != nil {
		t.Fatal(err)
	}
	return private
}

// entryOf returns private state as it is stored.
func entryOf(tb testing.TB, private state.Private) []byte {
	tb.Helper()
	entry, err := state.Private{}.Changed(private)
	if err != nil {
		tb.Fatal(err)
	}
	return entry
}

// reloaded stores private and loads it.
func reloaded(t *testing.T, private state.Private) state.Private {
	t.Helper()
	return load(t, entryOf(t, private))
}

func packed(t *testing.T, capabilities state.ClusterCapabilities) state.PackedCapabilities {
	t.Helper()
	made, err := state.PackedCapabilities(nil).Repack(nil, capabilities)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// whole returns private state with a value in each part.
func whole(t *testing.T) state.Private {
	t.Helper()
	return state.Private{
		Version: 1,
		ObjectVersions: state.ObjectVersions{"a": deploy.Versions{
			{Kind: "Secret", Namespace: "ns", Name: "values"}: "uid/12", {Kind: "ConfigMap", Namespace: "ns", Name: "values"}: "",
		}},
		ClusterUIDs: map[string]string{"a": "uid-a", "b": "uid-b"},
		Connections: map[string]connect.Connection{
			"a": {ConfigPaths: []string{"~/.kube/config"}, ConfigContext: "a", RequestTimeout: 1000, QPS: 2.5},
			"b": {Host: "https://b.example.com", ClusterCACertificate: "PEM", Exec: &connect.Exec{APIVersion: "v1", Command: "login"}},
		},
		Capabilities: packed(t, state.ClusterCapabilities{
			"a": {Version: "v1.30.1", Major: "1", Minor: "30+", APIs: []string{"apps/v1", "apps/v1/Deployment", "v1", "v1/Pod"}},
			"b": {Version: "v1.31.0", Major: "1", Minor: "31", APIs: []string{"v1"}},
		}),
		Needs: map[string][]string{"web": {"db"}},
		DriftState: state.DriftState{
			Rules: []release.Rules{{
				ComparePatches: []fleetyaml.ComparePatch{{Kind: "A", JSONPointers: []string{"/a"}, Operations: []fleetyaml.Operation{{Op: "remove", Path: "/b"}}}},
				Ignore:         []map[string]string{{"type": "Ready"}}, ReportOnly: true,
			}},
			Usual:       map[string]int{"web": 3},
			Deployments: map[string]state.DeploymentDrift{"a/web": {Rules: 1, Counts: &status.Counts{Ready: 1, Modified: 1}}},
		},
		Orphans:     []deploy.Orphan{{Cluster: "a", Release: "old", Namespace: "ns", Objects: []string{"ConfigMap ns/old"}}},
		Replacement: state.ReplacementMarker{Planned: true, Target: "all", Wanted: map[string]string{"a/web": "ns/web"}, Unknown: true},
	}
}

func TestPrivateIsStoredAndLoaded(t *testing.T) {
	t.Parallel()
	want := whole(t)
	if diff := cmp.Diff(want, reloaded(t, want)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestChanged(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		before func(*state.Private)
		after  func(*state.Private)
		want   bool
	}{
		"nothing":                  {},
		"an identity":              {after: func(p *state.Private) { p.ClusterUIDs = map[string]string{"a": "other"} }, want: true},
		"a marker that is cleared": {after: func(p *state.Private) { p.Replacement = state.ReplacementMarker{} }, want: true},
		"empty instead of none":    {before: func(p *state.Private) { p.Needs = nil }, after: func(p *state.Private) { p.Needs = map[string][]string{} }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, after := whole(t), whole(t)
			for _, change := range []struct {
				of *state.Private
				by func(*state.Private)
			}{{&before, test.before}, {&after, test.before}, {&after, test.after}} {
				if change.by != nil {
					change.by(change.of)
				}
			}
			entry, err := before.Changed(after)
			if err != nil {
				t.Fatal(err)
			}
			if got := entry != nil; got != test.want {
				t.Errorf("changed: %t, want %t", got, test.want)
			}
		})
	}
}

func TestDamagedPrivate(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		entry, part string
	}{
		"no JSON":                {entry: `{"version":1,"needs":{"secret`},
		"a list":                 {entry: `["secret"]`},
		"null":                   {entry: `null`, part: "version"},
		"no version":             {entry: `{"needs":{"secret":["db"]}}`, part: "version"},
		"a version that is none": {entry: `{"version":"secret"}`, part: "version"},
		"a part of another kind": {entry: `{"version":1,"uids":["secret"]}`, part: "uids"},
		"connections":            {entry: `{"version":1,"connections":{"a":{"Host":{"secret":1}}}}`, part: "connections"},
		"object versions":        {entry: `{"version":1,"objects":{"a":"secret"}}`, part: "objects"},
		"packed capabilities":    {entry: `{"version":1,"capabilities":"secret!"}`, part: "capabilities"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := state.Load([]byte(test.entry))
			damaged, ok := errors.AsType[*state.DamagedError](err)
			if !ok || damaged.Part != test.part {
				t.Fatalf("got %#v, want that %q is damaged", err, test.part)
			}
			if text := err.Error(); strings.Contains(text, "secret") || !strings.Contains(text, test.part) {
				t.Errorf("the error says %q", text)
			}
		})
	}
}

func TestPrivateOfNewerVersion(t *testing.T) {
	t.Parallel()
	_, err := state.Load([]byte(`{"version":2,"needs":"in another form"}`))
	newer, ok := errors.AsType[*state.NewerError](err)
	if !ok || newer.Version != 2 {
		t.Fatalf("got %#v, want an error that names version 2", err)
	}
}

func TestPrivateTakesLittleRoom(t *testing.T) {
	t.Parallel()
	const limit = 145_000
	if entry := entryOf(t, large(t)); len(entry) > limit {
		t.Errorf("%d bytes, want %d at most", len(entry), limit)
	}
}

// large returns private state of 20 bundles on 200 clusters.
func large(tb testing.TB) state.Private {
	tb.Helper()
	const clusters, bundles = 200, 20
	private := state.Private{
		ObjectVersions: state.ObjectVersions{}, ClusterUIDs: map[string]string{}, Connections: map[string]connect.Connection{}, Needs: map[string][]string{},
	}
	capabilities := state.ClusterCapabilities{}
	records := map[deploy.Key]deploy.Record{}
	for c := range clusters {
		cluster := fmt.Sprintf("cluster-%03d", c)
		private.ClusterUIDs[cluster] = fmt.Sprintf("11111111-2222-3333-4444-%012d", c)
		private.Connections[cluster] = connect.Connection{ConfigPaths: []string{"/home/user/.kube/config"}, ConfigContext: cluster}
		private.ObjectVersions[cluster] = deploy.Versions{{Kind: "Secret", Namespace: "ns", Name: "values"}: "11111111-2222-3333-4444-555555555555/12"}
		capabilities[cluster] = manyAPIs()
		for b := range bundles {
			bundle := fmt.Sprintf("bundle-%02d", b)
			record := deploy.Record{Counts: status.Counts{Ready: 5}, Rules: release.Rules{ReportOnly: b%5 == 0}}
			if b%7 == 0 {
				record.Counts = status.Counts{Ready: 4, NotReady: 1}
			}
			records[deploy.Key{Cluster: cluster, Bundle: bundle}] = record
			if b > 0 {
				private.Needs[bundle] = []string{fmt.Sprintf("bundle-%02d", b-1)}
			}
		}
	}
	private.DriftState = state.DriftStateOf(records, false)
	made, err := private.Capabilities.Repack(nil, capabilities)
	if err != nil {
		tb.Fatal(err)
	}
	private.Capabilities = made
	return private
}

func manyAPIs() target.Capabilities {
	set := target.Capabilities{Version: "v1.30.1", Major: "1", Minor: "30"}
	for i := range 400 {
		set.APIs = append(set.APIs, fmt.Sprintf("group%d.example.com/v1", i/10), fmt.Sprintf("group%d.example.com/v1/Kind%d", i/10, i))
	}
	return set
}

func BenchmarkLoad(b *testing.B) {
	entry := entryOf(b, large(b))
	for b.Loop() {
		if _, err := state.Load(entry); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkChanged(b *testing.B) {
	private := large(b)
	for b.Loop() {
		if _, err := private.Changed(private); err != nil {
			b.Fatal(err)
		}
	}
}

// FuzzPrivate checks that any private state is loaded, or gives an error without its content. What
// was loaded is the same after it is stored and loaded again.
func FuzzPrivate(f *testing.F) {
	f.Add(`{"version":1,"uids":{"a":"b"},"needs":{"a":["b"]},"objects":{"a":[{"kind":"Secret","name":"x"}]},"replacement":{"planned":true}}`)
	f.Add(`{"version":1,"capabilities":"H4sIAAAAAAAA/6pWSizOTk1RskpLzClOrQUEAAD//6O8sjoPAAAA","connections":{"a":{"QPS":0.1}},"drift":{"usual":{"a":-1}},"orphans":[{}]}`)
	f.Add(`{"version":1,"drift":{"rules":[{"ignore":[{}]}],"deployments":{"a/b":{"rules":-1,"counts":{}}}}}`)
	f.Add(`null`)
	f.Fuzz(func(t *testing.T, entry string) {
		got, err := state.Load([]byte(entry))
		if err != nil {
			return
		}
		_, _ = got.Capabilities.Unpack() // Both results are allowed: it is damaged, or it is not.
		if diff := cmp.Diff(got, reloaded(t, got), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("stored and loaded (-want +got):\n%s", diff)
		}
	})
}

// Terraform could not read a message with more.
func TestPrivateStateIsLimited(t *testing.T) {
	t.Parallel()
	inventory := &state.Inventory{}
	for i := range 20_000 {
		inventory.Clusters = append(inventory.Clusters, target.Cluster{Name: fmt.Sprint("cluster-", i), Annotations: map[string]string{"note": strings.Repeat("x", 2_000)}})
	}
	stored, err := state.Private{}.Changed(state.Private{Inventory: inventory})
	if err != nil {
		t.Fatal(err)
	}
	if err := state.CheckSize(stored); err == nil || !strings.Contains(err.Error(), "the limit is 32 MiB") {
		t.Errorf("%d bytes are stored, error %v", len(stored), err)
	}
	inventory.Clusters = inventory.Clusters[:2_000]
	if stored, err = (state.Private{}).Changed(state.Private{Inventory: inventory}); err != nil || state.CheckSize(stored) != nil {
		t.Error(err, state.CheckSize(stored))
	}
}
