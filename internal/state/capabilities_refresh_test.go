package state_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/state"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// A cluster that does not respond keeps its known capabilities. A cluster whose connection is not
// known yet may be another one and loses them. A removed cluster loses them too.
func TestCapabilitiesOfClustersThatDoNotRespond(t *testing.T) {
	t.Parallel()
	old, recent := target.Capabilities{Version: "v1.30.1"}, target.Capabilities{Version: "v1.31.0"}
	var asked []string
	reader := state.CapabilityReader{
		Clusters:      []string{"down", "fresh", "unmade", "up"},
		IsConnectable: func(cluster string) bool { return cluster != "unmade" && cluster != "gone" },
		Read: func(_ context.Context, clusters []string) map[string]target.Capabilities {
			asked = clusters
			return map[string]target.Capabilities{"up": recent}
		},
	}
	known := state.ClusterCapabilities{"up": old, "down": old, "unmade": old, "gone": old}
	want := state.ClusterCapabilities{"up": recent, "down": old}
	if diff := cmp.Diff(want, reader.Start(t.Context(), known)()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"down", "fresh", "up"}, asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	reader.Read = func(context.Context, []string) map[string]target.Capabilities { panic("nobody wants to know") }
	if found := reader.Start(t.Context(), nil)(); found != nil {
		t.Errorf("clusters were asked although nobody wants to know: %v", found)
	}
	if found := reader.Start(t.Context(), known)(); found == nil {
		t.Error("a panic costs what is known")
	}
}

// Only clusters that were written to are queried, and only if a deployment depends on them.
func TestCapabilitiesAfterWrite(t *testing.T) {
	t.Parallel()
	recent := target.Capabilities{Version: "v1.31.0"}
	tests := map[string]struct {
		depends bool
		err     error
		want    state.ClusterCapabilities
	}{
		"depends":  {depends: true, want: state.ClusterCapabilities{"a": recent, "b": recent}},
		"perhaps":  {err: errors.New("the chart cannot be read"), want: state.ClusterCapabilities{"a": recent, "b": recent}},
		"does not": {},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reader := state.CapabilityReader{
				IsConnectable: func(string) bool { return true },
				Read: func(_ context.Context, clusters []string) map[string]target.Capabilities {
					found := map[string]target.Capabilities{}
					for _, cluster := range clusters {
						found[cluster] = recent
					}
					return found
				},
				DependsOnCluster: func(target.Deployment) (bool, error) { return test.depends, test.err },
			}
			written := []target.Deployment{deployed("b", "web"), deployed("a", "web"), deployed("b", "db")}
			got := reader.AfterWrite(t.Context(), nil, written, written)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The plan of a create reads each cluster once if one of its deployments depends on capabilities.
// It returns what it has read, and whether that can still grow, and both survive private state.
func TestCapabilitiesOfACreate(t *testing.T) {
	t.Parallel()
	served := target.Capabilities{Version: "v1.31.0", APIs: []string{"v1"}}
	growing, fixed := served, target.Capabilities{Version: "v1.2.3", Fixed: true}
	growing.MayGrow = true
	var read [][]string
	reader := state.CapabilityReader{
		IsConnectable: func(cluster string) bool { return cluster != "unmade" },
		Read: func(_ context.Context, clusters []string) map[string]target.Capabilities {
			read = append(read, clusters)
			return map[string]target.Capabilities{"a": served}
		},
		DependsOnCluster: func(d target.Deployment) (bool, error) { return d.Bundle.Name != "plain", nil },
	}
	wanted := []target.Deployment{
		deployed("b", "web"), deployed("a", "web"), deployed("a", "db"), deployed("a", "plain"), deployed("a", "fixed"), deployed("unmade", "web"),
	}
	wanted[4].Capabilities = &fixed
	found := reader.PinCreate(t.Context(), wanted, func(cluster string) bool { return cluster == "a" })
	packed, err := state.PackedCapabilities(nil).Repack(nil, found)
	if err != nil {
		t.Fatal(err)
	}
	unpacked, err := packed.Unpack()
	if diff := cmp.Diff(state.ClusterCapabilities{"a": growing}, unpacked); err != nil || diff != "" {
		t.Errorf("kept, %v (-want +got):\n%s", err, diff)
	}
	steady := slices.Clone(wanted[1:2])
	steady[0].Capabilities = nil
	reader.PinCreate(t.Context(), steady, func(string) bool { return false })
	if diff := cmp.Diff(&served, steady[0].Capabilities); diff != "" {
		t.Errorf("on a cluster that cannot grow (-want +got):\n%s", diff)
	}
	want := []*target.Capabilities{nil, &growing, &growing, nil, &fixed, nil}
	for i, d := range wanted {
		if diff := cmp.Diff(want[i], d.Capabilities); diff != "" {
			t.Errorf("%s (-want +got):\n%s", d.Key(), diff)
		}
	}
	reader.PinCreate(t.Context(), wanted[3:], func(string) bool { return true })
	if diff := cmp.Diff([][]string{{"a", "b"}, {"a"}}, read); diff != "" {
		t.Errorf("clusters read (-want +got):\n%s", diff)
	}
	state.ClusterCapabilities{"a": served}.Pin(wanted)
	if wanted[4].Capabilities != &fixed {
		t.Error("what the configuration sets is replaced")
	}
}
