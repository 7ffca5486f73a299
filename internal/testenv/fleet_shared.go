package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// sharedFleet is shared by all tests of a binary, like shared.
//
//nolint:gochecknoglobals // See above; it is started at most once and never changed.
var sharedFleet = sync.OnceValues(func() (*Fleet, error) {
	ctx := context.Background() //nolint:forbidigo // As for shared.
	return StartFleet(ctx, FleetOptions{Clusters: SharedFleetClusters(), Log: logToStderr})
})

// SharedFleetClusters returns the clusters of SharedFleet.
func SharedFleetClusters() []FleetCluster {
	cluster := func(name, env string) FleetCluster {
		return FleetCluster{
			Name:           name,
			Labels:         map[string]string{"env": env},
			TemplateValues: map[string]any{"zone": "zone-of-" + name},
		}
	}
	return []FleetCluster{cluster("c1", "dev"), cluster("c2", "prod"), cluster("c3", "prod")}
}

// SharedFleet returns a Fleet with three clusters, c1 to c3, that all tests of the binary share.
// The first call starts the Fleet; it ends with the process. A test uses Bundles and namespaces
// with its own names, and stops neither agents nor controllers. The test skips if tests run on
// existing clusters.
func SharedFleet(tb testing.TB) *Fleet {
	tb.Helper()
	Require(tb)
	fleet, err := sharedFleet()
	return fleet.forTest(tb, err)
}

// NewFleet starts a Fleet for one test, which may do everything to it. The Fleet ends with the
// test. The test skips if tests run on existing clusters.
func NewFleet(tb testing.TB, clusters ...FleetCluster) *Fleet {
	tb.Helper()
	Require(tb)
	fleet, err := StartFleet(tb.Context(), FleetOptions{Clusters: clusters, Log: logToStderr})
	if err == nil {
		tb.Cleanup(func() {
			if err := fleet.Stop(context.WithoutCancel(tb.Context())); err != nil {
				tb.Errorf("stopping the Fleet of the test: %v", err)
			}
		})
	}
	return fleet.forTest(tb, err)
}

func (f *Fleet) forTest(tb testing.TB, err error) *Fleet {
	tb.Helper()
	if errors.Is(err, ErrExternal) {
		tb.Skip("a Fleet of tests runs on local control planes only")
	}
	if err != nil {
		tb.Fatalf("starting Fleet: %v", err)
	}
	tb.Cleanup(func() {
		if !tb.Failed() {
			return
		}
		dir, err := f.keepLogs(tb.Name())
		if err != nil {
			tb.Logf("keeping the logs of Fleet: %v", err)
			return
		}
		tb.Logf("the logs of Fleet are in %s", dir)
	})
	return f
}

// keepLogs copies the logs of Fleet to .build of the repository, because the folder of the logs is
// removed.
func (f *Fleet) keepLogs(test string) (string, error) {
	root, err := repositoryRoot()
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("%s-%s", filepath.Base(test), time.Now().Format("150405.000"))
	dir := filepath.Join(root, ".build", "fleet-logs", name)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", fmt.Errorf("creating a folder for logs: %w", err)
	}
	logs, err := filepath.Glob(f.processes.file("*.log"))
	if err != nil {
		return "", fmt.Errorf("looking for logs: %w", err)
	}
	for _, log := range logs {
		content, err := os.ReadFile(filepath.Clean(log))
		if err != nil {
			return "", fmt.Errorf("reading a log: %w", err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(log)), content, 0o600); err != nil {
			return "", fmt.Errorf("keeping a log: %w", err)
		}
	}
	return dir, nil
}
