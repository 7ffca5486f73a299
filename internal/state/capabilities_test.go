package state_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/state"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

func TestCapabilitiesSurvivePrivateState(t *testing.T) {
	t.Parallel()
	old := target.Capabilities{Version: "v1.30.1", Major: "1", Minor: "30+", APIs: []string{"apps/v1", "apps/v1/Deployment", "v1", "v1/Pod"}}
	recent := target.Capabilities{Version: "v1.31.0", Major: "1", Minor: "31", APIs: []string{"v1"}}
	tests := map[string]state.ClusterCapabilities{
		"nobody asks":    nil,
		"nobody answers": {},
		"some":           {"a": old, "b": recent, "c": old},
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := reloaded(t, state.Private{Capabilities: packed(t, want)})
			got, err := before.Capabilities.Unpack()
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("(-want +got):\n%s%v", diff, err)
			}
			for _, change := range []struct {
				now     state.ClusterCapabilities
				changes bool
			}{{want, false}, {state.ClusterCapabilities{"d": old}, true}} {
				after := before
				after.Capabilities, err = before.Capabilities.Repack(got, change.now)
				if err != nil {
					t.Fatal(err)
				}
				entry, err := before.Changed(after)
				if err != nil || entry != nil != change.changes {
					t.Errorf("changed: %t, want %t: %v", entry != nil, change.changes, err)
				}
			}
		})
	}
}

// Other bytes from the compression are no change.
func TestRepackKeepsWhatWasPackedOtherwise(t *testing.T) {
	t.Parallel()
	known := state.ClusterCapabilities{"a": {Version: "v1.30.1"}}
	otherwise := uncompressed(t, packed(t, known))
	again, err := otherwise.Repack(known, known)
	if err != nil || !bytes.Equal(again, otherwise) {
		t.Errorf("packed anew: %v", err)
	}
	none, err := otherwise.Repack(known, nil)
	if err != nil || none != nil {
		t.Errorf("%d bytes of nothing: %v", len(none), err)
	}
}

// uncompressed returns packed capabilities that another compression wrote.
func uncompressed(t *testing.T, packed state.PackedCapabilities) state.PackedCapabilities {
	t.Helper()
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	var written bytes.Buffer
	writer, err := gzip.NewWriterLevel(&written, gzip.NoCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(writer, reader); err != nil { //nolint:gosec // The test has packed it.
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return written.Bytes()
}

func TestDamagedCapabilities(t *testing.T) {
	t.Parallel()
	whole := packed(t, state.ClusterCapabilities{"a": {Version: "v1.30.1"}})
	for name, bytes := range map[string]state.PackedCapabilities{"not packed": []byte("secret"), "cut off": whole[:len(whole)/2]} {
		if known, err := bytes.Unpack(); err == nil || err.Error() != `the private state is damaged: "capabilities" cannot be read` {
			t.Errorf("%s: %v and the error %v", name, known, err)
		}
	}
}

func TestCapabilitiesTakeLittleRoom(t *testing.T) {
	t.Parallel()
	const clusters, limit = 500, 8 << 10 * 3 / 4 // In JSON, three bytes take four.
	known := state.ClusterCapabilities{}
	for i := range clusters {
		known[fmt.Sprintf("cluster-%d", i)] = manyAPIs()
	}
	if size := len(packed(t, known)); size > limit {
		t.Errorf("%d bytes for %d clusters", size, clusters)
	}
}

func TestMergeCapabilities(t *testing.T) {
	t.Parallel()
	old, recent := target.Capabilities{Version: "v1.30.1", APIs: []string{"a/v1", "v1"}}, target.Capabilities{Version: "v1.31.0", APIs: []string{"v1"}, Silent: []string{"a/v1"}}
	known := state.ClusterCapabilities{"answers": old, "does not respond": old, "cannot be asked": old}
	got := known.Merge(map[string]target.Capabilities{"answers": recent, "new": recent}, func(cluster string) bool { return cluster != "cannot be asked" })
	completed := recent
	completed.APIs = []string{"a/v1", "v1"}
	if diff := cmp.Diff(state.ClusterCapabilities{"answers": completed, "does not respond": old, "new": recent}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
