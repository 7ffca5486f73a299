package state_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/state"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// entries are the entries of private state by key.
type entries map[string][]byte

func (e entries) get(key string) []byte { return e[key] }

// store stores changes as Terraform's framework does: nil removes a key.
func (e entries) store(t *testing.T, before, after state.Private) {
	t.Helper()
	changes, err := before.Changes(after)
	if err != nil {
		t.Fatal(err)
	}
	for key, raw := range changes {
		if raw == nil {
			delete(e, key)
			continue
		}
		e[key] = raw
	}
}

func load(t *testing.T, from entries) state.Private {
	t.Helper()
	private, err := state.Load(from.get)
	if err != nil {
		t.Fatal(err)
	}
	return private
}

// reloaded stores private and loads it.
func reloaded(t *testing.T, private state.Private) state.Private {
	t.Helper()
	stored := entries{}
	stored.store(t, state.Private{}, private)
	return load(t, stored)
}

func packed(t *testing.T, capabilities state.ClusterCapabilities) state.PackedCapabilities {
	t.Helper()
	made, err := state.PackedCapabilities(nil).Repack(nil, capabilities)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// whole returns private state with a value in each part. testdata/earlier/all.json was recorded
// from it.
func whole(t *testing.T) state.Private {
	t.Helper()
	return state.Private{
		Version: 1,
		ObjectVersions: state.ObjectVersions{"a": deploy.Versions{
			{Kind: "Secret", Namespace: "ns", Name: "values"}: "uid/12", {Kind: "ConfigMap", Namespace: "ns", Name: "values"}: "",
		}},
		ClusterUIDs: map[string]string{"a": "uid-a", "b": "uid-b"},
		Connections: map[string]kube.Stored{
			"a": {ConfigPaths: []string{"~/.kube/config"}, ConfigContext: "a", RequestTimeout: 1000, QPS: 2.5},
			"b": {Host: "https://b.example.com", ClusterCACertificate: "PEM", ExecVersion: "v1", ExecCommand: "login"},
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
	want, stored := whole(t), entries{}
	stored.store(t, state.Private{}, want)
	if keys := slices.Collect(maps.Keys(stored)); !slices.Equal(keys, []string{state.Key}) {
		t.Errorf("stored under %q", keys)
	}
	if diff := cmp.Diff(want, load(t, stored)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestChanges(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		before func(*state.Private)
		after  func(*state.Private)
		want   bool
	}{
		"nothing":                      {},
		"an identity":                  {after: func(p *state.Private) { p.ClusterUIDs = map[string]string{"a": "other"} }, want: true},
		"a marker that is cleared":     {after: func(p *state.Private) { p.Replacement = state.ReplacementMarker{} }, want: true},
		"empty instead of none":        {before: func(p *state.Private) { p.Needs = nil }, after: func(p *state.Private) { p.Needs = map[string][]string{} }},
		"stored by an earlier version": {before: func(p *state.Private) { p.Earlier = true }, want: true},
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
			changes, err := before.Changes(after)
			if err != nil {
				t.Fatal(err)
			}
			if got := len(changes) > 0; got != test.want {
				t.Errorf("changed: %t, want %t", got, test.want)
			}
		})
	}
}

// recorded returns entries as an earlier version stored them, each under its own key.
func recorded(t *testing.T, name string) entries {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "earlier", name))
	if err != nil {
		t.Fatal(err)
	}
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		t.Fatal(err)
	}
	found := entries{}
	for key, part := range parts {
		found[key] = part
	}
	return found
}

func TestPrivateOfEarlierVersions(t *testing.T) {
	t.Parallel()
	plain := map[string]kube.Stored{"plain": {ConfigPaths: []string{"KUBECONFIG"}, ConfigContext: "CONTEXT"}, "command": {Host: "https://c.example.com", ExecVersion: "v1", ExecCommand: "login"}}
	with := func(change func(*state.Private)) state.Private {
		private := whole(t)
		change(&private)
		return private
	}
	tests := map[string]struct {
		stored entries
		want   state.Private
	}{
		"all":     {stored: recorded(t, "all.json"), want: whole(t)},
		"nothing": {stored: recorded(t, "nothing.json"), want: state.Private{Version: 1}},
		"connections with all fields": {
			stored: recorded(t, "connections.json"), want: state.Private{Version: 1, Connections: plain},
		},
		"differences that the cluster made": {
			stored: entries{"looks": []byte(`{"deployments":{"a/web":{"stored":{"Widget ns/web: spec.pruned":"-"}}}}`)},
			want: state.Private{Version: 1, DriftState: state.DriftState{Deployments: map[string]state.DeploymentDrift{
				"a/web": {Stored: map[string]string{"Widget ns/web: spec.pruned": "-"}},
			}}},
		},
		// A provider that was downgraded stored the parts that it had read again.
		"beside the current entry": {
			stored: func() entries {
				stored := entries{}
				stored.store(t, state.Private{}, whole(t))
				stored["clusters"], stored["create_leg"], stored["looks"] = []byte(`{"a":"other"}`), []byte(`{"planned":false}`), []byte(`{"usual":{"web":4}}`)
				return stored
			}(),
			want: with(func(p *state.Private) {
				p.ClusterUIDs, p.Replacement = map[string]string{"a": "other"}, state.ReplacementMarker{}
				p.DriftState = state.DriftState{Usual: map[string]int{"web": 4}}
			}),
		},
	}
	// Other versions of the compression give other bytes.
	unpacked := cmp.Comparer(func(a, b state.PackedCapabilities) bool {
		left, leftErr := a.Unpack()
		right, rightErr := b.Unpack()
		return leftErr == nil && rightErr == nil && maps.EqualFunc(left, right, target.Capabilities.Equal)
	})
	empty := cmp.FilterPath(func(path cmp.Path) bool { return path.Last().Type() != reflect.TypeFor[state.PackedCapabilities]() }, cmpopts.EquateEmpty())
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := load(t, test.stored)
			if !got.Earlier {
				t.Error("not known as of an earlier version")
			}
			if diff := cmp.Diff(test.want, got, empty, cmpopts.IgnoreFields(state.Private{}, "Earlier"), unpacked); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}

			// It is stored once again although nothing changed, and the earlier keys are removed.
			test.stored.store(t, got, got)
			if keys := slices.Collect(maps.Keys(test.stored)); !slices.Equal(keys, []string{state.Key}) {
				t.Errorf("stored under %q", keys)
			}
			if text := string(test.stored[state.Key]); strings.Contains(text, "secret") {
				t.Errorf("a credential stays: %s", text)
			}
			again := load(t, test.stored)
			if changes, err := again.Changes(again); err != nil || len(changes) > 0 || again.Earlier {
				t.Errorf("changes again: %v %v", changes, err)
			}
			if diff := cmp.Diff(test.want, again, empty, unpacked); diff != "" {
				t.Errorf("stored anew (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDamagedPrivate(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		stored entries
		part   string
	}{
		"no JSON":                    {stored: entries{"state": []byte(`{"version":1,"needs":{"secret`)}},
		"a list":                     {stored: entries{"state": []byte(`["secret"]`)}},
		"null":                       {stored: entries{"state": []byte(`null`)}, part: "version"},
		"no version":                 {stored: entries{"state": []byte(`{"needs":{"secret":["db"]}}`)}, part: "version"},
		"a version that is none":     {stored: entries{"state": []byte(`{"version":"secret"}`)}, part: "version"},
		"a part of another kind":     {stored: entries{"state": []byte(`{"version":1,"uids":["secret"]}`)}, part: "uids"},
		"connections":                {stored: entries{"state": []byte(`{"version":1,"connections":{"a":{"Host":{"secret":1}}}}`)}, part: "connections"},
		"object versions":            {stored: entries{"state": []byte(`{"version":1,"objects":{"a":"secret"}}`)}, part: "objects"},
		"packed capabilities":        {stored: entries{"state": []byte(`{"version":1,"capabilities":"secret!"}`)}, part: "capabilities"},
		"an earlier version's looks": {stored: entries{"looks": []byte(`"secret"`)}, part: "drift"},
		"an earlier version's connections": {
			stored: entries{"connections": []byte(`{"a":{"Token":["secret"]}}`)}, part: "connections",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := state.Load(test.stored.get)
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
	_, err := state.Load(entries{state.Key: []byte(`{"version":2,"needs":"in another form"}`)}.get)
	newer, ok := errors.AsType[*state.NewerError](err)
	if !ok || newer.Version != 2 {
		t.Fatalf("got %#v, want an error that names version 2", err)
	}
}

func TestPrivateTakesLittleRoom(t *testing.T) {
	t.Parallel()
	const before = 191_354 // The size of the same content when each part had its own key.
	stored := entries{}
	stored.store(t, state.Private{}, large(t))
	raw, err := json.Marshal(stored) // As Terraform's framework does.
	if err != nil {
		t.Fatal(err)
	}
	if len(raw) > before {
		t.Errorf("%d bytes, want %d at most", len(raw), before)
	}
}

// large returns private state of 20 bundles on 200 clusters.
func large(tb testing.TB) state.Private {
	tb.Helper()
	const clusters, bundles = 200, 20
	private := state.Private{
		ObjectVersions: state.ObjectVersions{}, ClusterUIDs: map[string]string{}, Connections: map[string]kube.Stored{}, Needs: map[string][]string{},
	}
	capabilities := state.ClusterCapabilities{}
	records := map[deploy.Key]deploy.Record{}
	for c := range clusters {
		cluster := fmt.Sprintf("cluster-%03d", c)
		private.ClusterUIDs[cluster] = fmt.Sprintf("11111111-2222-3333-4444-%012d", c)
		private.Connections[cluster] = kube.Stored{ConfigPaths: []string{"/home/user/.kube/config"}, ConfigContext: cluster}
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
	private := large(b)
	changes, err := state.Private{}.Changes(private)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := state.Load(entries(changes).get); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkChanges(b *testing.B) {
	private := large(b)
	for b.Loop() {
		if _, err := private.Changes(private); err != nil {
			b.Fatal(err)
		}
	}
}

// FuzzPrivate checks that any private state is loaded, or gives an error without its content. What
// was loaded is the same after it is stored and loaded again.
func FuzzPrivate(f *testing.F) {
	f.Add(`{"version":1,"uids":{"a":"b"},"needs":{"a":["b"]},"objects":{"a":[{"kind":"Secret","name":"x"}]}}`, `{"a":{"Host":"https://a","Exec":{"Command":"login"}}}`, `{"rules":[{"ignore":[{}]}],"deployments":{"a/b":{"rules":-1,"counts":{}}}}`, `{"planned":true}`)
	f.Add(`{"version":1,"capabilities":"H4sIAAAAAAAA/6pWSizOTk1RskpLzClOrQUEAAD//6O8sjoPAAAA","connections":{"a":{"QPS":0.1}},"drift":{"usual":{"a":-1}},"orphans":[{}]}`, ``, ``, ``)
	f.Add(`null`, `null`, `null`, `null`)
	f.Fuzz(func(t *testing.T, current, connections, looks, marker string) {
		stored := entries{state.Key: []byte(current), "connections": []byte(connections), "looks": []byte(looks), "create_leg": []byte(marker)}
		got, err := state.Load(stored.get)
		if err != nil {
			return
		}
		_, _ = got.Capabilities.Unpack() // Both results are allowed: it is damaged, or it is not.
		want := got
		want.Earlier = false
		if diff := cmp.Diff(want, reloaded(t, want), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("stored and loaded (-want +got):\n%s", diff)
		}
	})
}
