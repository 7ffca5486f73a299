//go:build unix

package testenv

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// childVariable turns TestChild on; its value is the folder for the environment.
const childVariable = "FLEET_TESTENV_CHILD"

// TestDeath ends a test process in ways in which none of its own code can clean up.
func TestDeath(t *testing.T) {
	t.Parallel()
	Require(t)
	RequireSoak(t)
	if _, _, ok := existingClusters(); ok {
		t.Skip("existing clusters stay")
	}
	tests := []struct {
		name string
		end  func(t *testing.T, child *child)
	}{
		{name: "killed", end: func(t *testing.T, child *child) {
			t.Helper()
			child.signal(t, os.Kill)
		}},
		{name: "interrupted", end: func(t *testing.T, child *child) {
			t.Helper()
			child.signal(t, os.Interrupt)
		}},
		{name: "panics", end: func(t *testing.T, child *child) {
			t.Helper()
			if err := child.stdin.Close(); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "killed together with its reaper", end: func(t *testing.T, child *child) {
			t.Helper()
			child.killReaper(t)
			child.signal(t, os.Kill)
			_ = child.command.Wait()
			if got := len(child.processes(t)); got != len(programs()) {
				t.Fatalf("processes without a reaper: got %d, want all %d", got, len(programs()))
			}
			// The next Start would do the same later.
			if err := sweep(t.Context(), filepath.Dir(child.dir), 0, t.Logf); err != nil {
				t.Fatal(err)
			}
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			child := startChild(t)
			if got, want := len(child.processes(t)), len(programs())+1; got != want {
				t.Fatalf("processes of the environment: got %d, want %d", got, want)
			}
			test.end(t, child)
			_ = child.command.Wait()
			err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) {
				_, err := os.Stat(child.dir)
				return os.IsNotExist(err) && len(child.processes(t)) == 0, nil
			})
			if err != nil {
				t.Errorf("processes or files are left in %s: %v", child.dir, err)
			}
		})
	}
}

// TestSweepSparesTheLiving checks that sweep keeps environments that are new or whose owner runs.
func TestSweepSparesTheLiving(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	dirs := map[string]string{}
	for _, name := range []string{"owned", "young", "abandoned"} {
		dir := filepath.Join(parent, strings.Replace(folderPattern, "*", name, 1))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		dirs[name] = dir
		lock, err := tryLock(filepath.Join(dir, ownerLock))
		if err != nil || lock == nil {
			t.Fatalf("locking: %v, %v", lock, err)
		}
		if name != "young" {
			old := time.Now().Add(-time.Hour)
			if err := os.Chtimes(filepath.Join(dir, ownerLock), old, old); err != nil {
				t.Fatal(err)
			}
		}
		if name == "owned" {
			t.Cleanup(lock.release)
			continue
		}
		lock.release()
	}
	if err := sweep(t.Context(), parent, unclaimed, t.Logf); err != nil {
		t.Fatal(err)
	}
	for name, dir := range dirs {
		_, err := os.Stat(dir)
		if exists, want := err == nil, name != "abandoned"; exists != want {
			t.Errorf("%s environment exists: got %v, want %v", name, exists, want)
		}
	}
}

// TestChild is the process that TestDeath ends.
func TestChild(t *testing.T) { // It runs alone, in a process of its own.
	parent := os.Getenv(childVariable)
	if parent == "" {
		t.Skip("only a part of TestDeath")
	}
	if _, err := Start(t.Context(), Options{Parent: parent}); err != nil {
		t.Fatal(err)
	}
	runtime.GC() // A test that keeps only the kubeconfig drops the environment too. The clusters must continue to run.
	if err := write(filepath.Join(parent, "ready"), nil); err != nil {
		t.Fatal(err)
	}
	_, _ = os.Stdin.Read(make([]byte, 1)) // Wait until it is closed.
	panic("as in a test that fails badly")
}

type child struct {
	command *exec.Cmd
	stdin   interface{ Close() error }
	dir     string
}

func startChild(t *testing.T) *child {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	command := exec.CommandContext(t.Context(), program, "-test.run=^TestChild$")
	command.Env = append(os.Environ(), childVariable+"="+parent)
	// Write to a file: a pipe would stay open as long as a process that inherits it runs.
	output, err := os.Create(filepath.Join(t.TempDir(), "output"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = output.Close() })
	command.Stdout, command.Stderr = output, output
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	err = wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, startTimeout, true, func(context.Context) (bool, error) {
		_, err := os.Stat(filepath.Join(parent, "ready"))
		return err == nil, nil
	})
	if err != nil {
		said, _ := os.ReadFile(output.Name())
		t.Fatalf("waiting for the child's clusters: %v\n%s", err, said)
	}
	dirs, err := filepath.Glob(filepath.Join(parent, folderPattern))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("folders of the child: got %v, %v, want one", dirs, err)
	}
	return &child{command: command, stdin: stdin, dir: dirs[0]}
}

func (c *child) signal(t *testing.T, signal os.Signal) {
	t.Helper()
	if err := c.command.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

func (c *child) processes(t *testing.T) []*os.Process {
	t.Helper()
	processes, err := processesOf(t.Context(), c.dir)
	if err != nil {
		t.Fatal(err)
	}
	return processes
}

// killReaper kills the reaper, which is the leader of the process group.
func (c *child) killReaper(t *testing.T) {
	t.Helper()
	group, err := syscall.Getpgid(c.processes(t)[0].Pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(group, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}
