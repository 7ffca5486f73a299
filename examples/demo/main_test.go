package main

import (
	"os"
	"strings"
	"testing"
)

func TestUnknownClusters(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"cloud", "fleet real"} {
		if _, err := clustersOf(kind); err == nil {
			t.Errorf("unknown clusters %q are accepted", kind)
		}
	}
}

// Without its programs, a machine has no real nodes. Nothing is built or started before that is found.
func TestRealNodesCannotRun(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("FLEET_TEST_KUBECONFIG", "")
	clusters, err := clustersOf(realKind)
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	if _, _, err := clusters.up(t.Context(), work); err == nil || !strings.Contains(err.Error(), "real nodes need") {
		t.Errorf("got %v, want what real nodes need", err)
	}
	if made, err := os.ReadDir(work); err != nil || len(made) > 0 {
		t.Errorf("%v is made: %v", made, err)
	}
}
