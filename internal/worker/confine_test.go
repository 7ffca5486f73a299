//go:build unix

package worker_test

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker"
)

// confined returns a pool whose worker is confined, and the confinement.
func confined(t *testing.T) (*worker.Pool, worker.Confinement) {
	t.Helper()

	if worker.UnderRace {
		t.Skip("the race detector opens files and needs much memory")
	}
	pool := newPool(t, worker.Options{Processes: 1})

	return pool, call[worker.Confinement](t, pool, worker.ConfinementMethod, nil)
}

func TestConfinement(t *testing.T) {
	t.Parallel()

	_, got := confined(t)
	t.Logf("confinement: %+v", got)
	if len(got.Missing) > 0 {
		t.Errorf("not applied: %v", got.Missing)
	}
	if !got.Descriptors {
		t.Error("new descriptors are not denied")
	}
	if runtime.GOOS != "linux" {
		return
	}
	if !got.NoNewPrivileges || got.Data != 1<<30 {
		t.Errorf("no_new_privs is %t, RLIMIT_DATA %d", got.NoNewPrivileges, got.Data)
	}
}

func TestNoFileCanBeOpened(t *testing.T) {
	t.Parallel()

	pool, _ := confined(t)
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, "/etc/passwd", "/proc/self/environ", "/", os.DevNull} {
		denied(t, path, call[[]string](t, pool, "open", path))
	}
}

func TestNoConnectionCanBeMade(t *testing.T) {
	t.Parallel()

	pool, _ := confined(t)
	tcp, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // It ends with the test.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tcp.Close() })
	local, err := net.Listen("unix", filepath.Join(t.TempDir(), "s")) //nolint:noctx // It ends with the test.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = local.Close() })

	for _, to := range []address{
		{"tcp", tcp.Addr().String()},
		{"udp", tcp.Addr().String()},
		{"unix", local.Addr().String()},
	} {
		denied(t, to.Network, call[[]string](t, pool, "connect", to))
	}
}

// denied checks that all threads got an error.
func denied(t *testing.T, what string, results []string) {
	t.Helper()

	for _, result := range results {
		if !strings.Contains(result, "permission denied") && !strings.Contains(result, "too many open files") {
			t.Errorf("%s: %s", what, result)
		}
	}
}

// TestLandlockAlone checks what Landlock denies without the limit of descriptors.
func TestLandlockAlone(t *testing.T) {
	t.Parallel()

	_, got := confined(t)
	if got.Landlock == 0 {
		t.Skipf("the kernel has no Landlock: %v", got.Missing)
	}
	pool := newPool(t, worker.Options{Command: command(t, landlockArgument), Processes: 1})
	for _, result := range call[[]string](t, pool, "open", "/etc/passwd") {
		if !strings.Contains(result, "permission denied") {
			t.Errorf("opening a file: %s", result)
		}
	}
	if !got.TCP {
		t.Skipf("Landlock of version %d knows no TCP", got.Landlock)
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // It ends with the test.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tcp.Close() })
	for _, result := range call[[]string](t, pool, "connect", address{"tcp", tcp.Addr().String()}) {
		if !strings.Contains(result, "permission denied") {
			t.Errorf("connecting: %s", result)
		}
	}
}

func TestNoFileIsInherited(t *testing.T) {
	t.Parallel()

	path := filepath.Join(t.TempDir(), "inherited")
	if err := os.WriteFile(path, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	// Terraform may start the provider with open files that are inherited like this one.
	descriptor, err := syscall.Open(path, syscall.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(descriptor) })
	var stat syscall.Stat_t
	if err := syscall.Fstat(descriptor, &stat); err != nil {
		t.Fatal(err)
	}

	pool := newPool(t, worker.Options{Processes: 1})
	if open := call[[]uint64](t, pool, "inodes", nil); slices.Contains(open, stat.Ino) {
		t.Errorf("the worker has the file open: inode %d of %v", stat.Ino, open)
	}
}
