package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// SharedClusters is how many clusters Shared returns.
const SharedClusters = 3

// shared is global because all tests of a binary use it and nothing could pass it to them.
//
//nolint:gochecknoglobals // See above; it is started at most once and never changed.
var shared = sync.OnceValues(func() (*Env, error) {
	// It outlives the test that starts it, so it cannot use the context or the log of that test.
	ctx := context.Background() //nolint:forbidigo // See above.
	options := Options{Clusters: SharedClusters, Log: logToStderr}
	env, err := startShared(ctx, options)
	if err != nil {
		return nil, err
	}
	objects, err := env.NoteObjects(ctx)
	if err != nil {
		return nil, errors.Join(err, env.Stop(ctx))
	}
	sharedObjects.Store(objects)
	return env, nil
})

func startShared(ctx context.Context, options Options) (*Env, error) {
	if path := os.Getenv(sharedVariable); path != "" {
		return connectShared(ctx, path, options)
	}
	return Start(ctx, options)
}

// acceptanceFiles is the end of the names of files with tests on clusters. make testacc runs only
// the tests in these files.
const acceptanceFiles = "_acc_test.go"

// Require skips the test, with the reason, unless TF_ACC is set. It fails the test if its file has
// a name that make testacc does not run.
func Require(tb testing.TB) {
	tb.Helper()
	if strings.HasSuffix(testFile(), nodeFiles) {
		RequireNodes(tb)
		return
	}
	if file := testFile(); file != "" && !strings.HasSuffix(file, acceptanceFiles) {
		tb.Fatalf("a test that needs clusters is in %s; make testacc runs only what is in files *%s", filepath.Base(file), acceptanceFiles)
	}
	if os.Getenv("TF_ACC") == "" {
		tb.Skip("needs Kubernetes clusters; set TF_ACC=1 to start them on this machine")
	}
}

// Soaking reports whether make soak runs the tests. They may then take longer than tests of a
// change.
func Soaking() bool { return os.Getenv("FLEET_SOAK") != "" }

// RequireSoak skips a test unless make soak runs it. Such a test repeats at length what shorter
// tests show.
func RequireSoak(tb testing.TB) {
	tb.Helper()
	if !Soaking() {
		tb.Skip("repeats at length what other tests show; make soak runs it")
	}
}

// testFile returns the file of the running test, "" outside the goroutine of a test.
func testFile() string {
	callers := make([]uintptr, 64)
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
	file := ""
	for {
		frame, more := frames.Next()
		if frame.Function == "testing.tRunner" {
			return file
		}
		if file = frame.File; !more {
			return ""
		}
	}
}

// Shared returns three clusters that all tests of the binary share. The first call starts them;
// they end with the process. If FLEET_TEST_SHARED names the kubeconfig of a running environment,
// the tests of all binaries share its clusters. A test uses its own namespaces and names, and does
// not stop or move the clusters.
func Shared(tb testing.TB) *Env {
	tb.Helper()
	Require(tb)
	env, err := shared()
	if err != nil {
		tb.Fatalf("starting the clusters that tests share: %v", err)
	}
	return env
}

// New starts clusters for one test, which may do everything to them. They end with the test.
func New(tb testing.TB, clusters int) *Env {
	tb.Helper()
	Require(tb)
	return start(tb, Options{Clusters: clusters, Log: logToStderr})
}

func start(tb testing.TB, options Options) *Env {
	tb.Helper()
	env, err := Start(tb.Context(), options)
	if err != nil {
		tb.Fatalf("starting clusters for the test: %v", err)
	}
	tb.Cleanup(func() {
		if err := env.Stop(context.WithoutCancel(tb.Context())); err != nil {
			tb.Errorf("stopping the clusters of the test: %v", err)
		}
	})
	return env
}

// logToStderr shows progress at once, while a test's own log appears only at its end.
func logToStderr(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "testenv: "+format+"\n", args...)
}
