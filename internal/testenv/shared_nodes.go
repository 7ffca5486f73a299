package testenv

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// NodesVariable is "real" for tests that need pods that run.
const NodesVariable = "FLEET_TEST_NODES"

// nodeFiles is the end of the names of files with tests on real nodes. make testacc-nodes runs only the
// tests in these files.
const nodeFiles = "_node_test.go"

// sharedNodes is global for the same reason as shared.
//
//nolint:gochecknoglobals // See above; it is started at most once and never changed.
var sharedNodes = sync.OnceValues(func() (*Env, error) {
	// It outlives the test that starts it, so it cannot use the context or the log of that test.
	ctx := context.Background() //nolint:forbidigo // See above.
	return Start(ctx, Options{Clusters: SharedClusters, Nodes: true, Log: logToStderr})
})

// RequireNodes skips the test, with the reason, unless real nodes are asked for and can run here.
func RequireNodes(tb testing.TB) {
	tb.Helper()
	if file := testFile(); file != "" && !strings.HasSuffix(file, nodeFiles) {
		tb.Fatalf("a test that needs real nodes is in %s; make testacc-nodes runs only what is in files *%s", filepath.Base(file), nodeFiles)
	}
	if os.Getenv(NodesVariable) != "real" {
		tb.Skipf("needs nodes whose pods run; set %s=real to start them on this machine", NodesVariable)
	}
	if err := CheckNodes(); err != nil {
		tb.Skip(err)
	}
}

// SharedNodes returns three clusters with real nodes that all tests of the binary share, as Shared does.
// Containers can run TestImage, and nothing else.
func SharedNodes(tb testing.TB) *Env {
	tb.Helper()
	RequireNodes(tb)
	env, err := sharedNodes()
	if err != nil {
		tb.Fatalf("starting the clusters with real nodes that tests share: %v", err)
	}
	return env
}

// NewNodes starts clusters with real nodes for one test, as New does.
func NewNodes(tb testing.TB, clusters int) *Env {
	tb.Helper()
	RequireNodes(tb)
	return start(tb, Options{Clusters: clusters, Nodes: true, Log: logToStderr})
}
