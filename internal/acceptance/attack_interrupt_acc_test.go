//go:build linux

package acceptance_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker"
)

// A template that does not end does not delay Ctrl-C.
func TestAttackTemplateHoldsUpAnInterrupt(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	s, w := newFixture(t, env), newWorkspace(t)
	s.hostile(t, w, map[string]string{
		"Chart.yaml":        "apiVersion: v2\nname: app\nversion: 1.0.0\n",
		"templates/cm.yaml": configMap("app", "x") + "# {{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}\n",
	}, "1h")
	command := exec.Command(w.cli, "plan", "-input=false", "-no-color") //nolint:noctx // The test ends it by a signal.
	command.Dir, command.Env = w.dir, w.env
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	t.Cleanup(func() { _ = command.Process.Kill() })
	rendering := awaitWorker(t, command.Process.Pid)
	interrupted := time.Now()
	if err := command.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended: //nolint:errcheck // It was interrupted.
	case <-time.After(time.Minute):
		t.Fatal("the plan does not end")
	}
	// The limit is two seconds on a machine that runs nothing else.
	if took := time.Since(interrupted); took > 10*time.Second {
		t.Errorf("the plan ended after %s:\n%s", took, &output)
	}
	for begun := time.Now(); parentOf(rendering) != 0; time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > 10*time.Second {
			t.Fatal("the worker is left")
		}
	}
}

// awaitWorker waits for a worker process below the process root.
func awaitWorker(t *testing.T, root int) (pid int) {
	t.Helper()
	for begun := time.Now(); time.Since(begun) < time.Minute; time.Sleep(10 * time.Millisecond) {
		commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range commands {
			command, _ := os.ReadFile(path)
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			if bytes.Contains(command, []byte(worker.Argument)) && isBelow(pid, root) {
				return pid
			}
		}
	}
	t.Fatal("no worker was started")
	return 0
}

// isBelow reports whether a process descends from another one.
func isBelow(pid, root int) bool {
	for pid > 1 {
		if pid == root {
			return true
		}
		pid = parentOf(pid)
	}
	return false
}

// parentOf returns 0 for a process that does not exist.
func parentOf(pid int) int {
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), ") ") // After the name of the process.
	fields := strings.Fields(rest)
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(fields[1])
	return parent
}
