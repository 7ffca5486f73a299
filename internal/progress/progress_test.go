//go:build unix

package progress_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/progress"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

func on(cluster, bundle string) deploy.Key { return deploy.Key{Cluster: cluster, Bundle: bundle} }

func TestLine(t *testing.T) {
	t.Parallel()
	waits := release.Unready{Object: "Deployment shop/web", Reason: "InProgress: Available: 1/3"}
	tests := map[string]struct {
		event deploy.Event
		want  string
	}{
		"an apply starts": {
			event: deploy.Event{Kind: deploy.ApplyStarted, Target: "apps", Total: 200, Text: "+150 ~50 -0 =3"},
			want:  "target apps: started, 200 deployments to change (+150 ~50 -0 =3)",
		},
		"a stage": {
			event: deploy.Event{Kind: deploy.StageStarted, Target: "apps", Stage: 2, Stages: 3, Text: "web on c, d (partition rest)"},
			want:  "target apps: stage 2 of 3 started: web on c, d (partition rest)",
		},
		"a start": {
			event: deploy.Event{Kind: deploy.DeploymentStarted, Key: on("eu-7", "web"), Doing: "upgrading", Attempt: 1},
			want:  "eu-7/web: upgrading started",
		},
		"a wait for one object": {
			event: deploy.Event{Kind: deploy.DeploymentWaits, Key: on("eu-7", "web"), Doing: "upgrading", Elapsed: 10 * time.Second, Waits: waits, Objects: 1},
			want:  "eu-7/web: upgrading waits after 10s for Deployment shop/web (InProgress: Available: 1/3)",
		},
		"a wait for more": {
			event: deploy.Event{Kind: deploy.DeploymentWaits, Key: on("eu-7", "web"), Doing: "upgrading", Elapsed: 10 * time.Second, Waits: waits, Objects: 3},
			want:  "eu-7/web: upgrading waits after 10s for Deployment shop/web (InProgress: Available: 1/3) and 2 other objects",
		},
		"a retry on a cluster": {
			event: deploy.Event{Kind: deploy.OperationRetried, Key: on("eu-7", ""), Doing: "reading the cluster", Attempt: 2, Err: errors.New("busy"), Pause: 1500 * time.Millisecond},
			want:  "eu-7: reading the cluster is retried, attempt 2 in 1.5s: busy",
		},
		"a success": {
			event: deploy.Event{Kind: deploy.DeploymentFinished, Key: on("eu-7", "web"), Doing: "upgrading", Attempt: 1, Elapsed: 41300 * time.Millisecond},
			want:  "eu-7/web: upgrading finished after 41s",
		},
		"a failure after two attempts": {
			event: deploy.Event{Kind: deploy.DeploymentFailed, Key: on("eu-7", "web"), Doing: "upgrading", Attempt: 2, Elapsed: 1200 * time.Millisecond, Err: errors.New("no quota")},
			want:  "eu-7/web: upgrading failed after 1.2s and 2 attempts: no quota",
		},
		"no start": {
			event: deploy.Event{Kind: deploy.DeploymentNotStarted, Key: on("eu-7", "web"), Doing: "deploying", Err: errors.New("it is held: x")},
			want:  "eu-7/web: not started: it is held: x",
		},
		"an apply ends": {
			event: deploy.Event{Kind: deploy.ApplyFinished, Target: "apps", Total: 200, Finished: 198, Failed: 2, Elapsed: 61 * time.Second},
			want:  "target apps: ended after 1m1s, 198 of 200 deployments finished, 2 failed",
		},
		"a hostile error": {
			event: deploy.Event{Kind: deploy.DeploymentNotStarted, Key: on("a", "b"), Err: errors.New("x\r\n\x1b[2J2026 a/b: finished\u202e\u2028y")},
			want:  `a/b: not started: x \x1b[2J2026 a/b: finished\u202e y`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, progress.Line(test.event)); diff != "" {
				t.Errorf("line (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLineIsBounded(t *testing.T) {
	t.Parallel()
	line := progress.Line(deploy.Event{Kind: deploy.DeploymentFailed, Key: on("a", "b"), Err: errors.New(strings.Repeat("é", 50_000))})
	if len(line) > 700 || !strings.HasSuffix(line, "…") {
		t.Errorf("a line of %d bytes: %.80s", len(line), line)
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	got := progress.Fields(deploy.Event{
		Kind: deploy.DeploymentWaits, Target: "apps", Key: on("eu-7", "web"), Doing: "upgrading", Attempt: 1,
		Elapsed: 10_040 * time.Millisecond, Waits: release.Unready{Object: "Job shop/\x1bmigrate"}, Objects: 1,
	})
	want := map[string]any{
		"target": "apps", "cluster": "eu-7", "bundle": "web", "action": "upgrading", "attempt": 1, "seconds": 10.0, "waits_for": `Job shop/\x1bmigrate`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

// gate is a slow reader: it reads nothing until it is opened.
type gate struct {
	open chan struct{}

	mu   sync.Mutex
	text bytes.Buffer
}

func (g *gate) take() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	defer g.text.Reset()
	return g.text.String()
}

func (g *gate) Write(text []byte) (int, error) {
	<-g.open
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.text.Write(text)
}

func opened() *gate {
	g := &gate{open: make(chan struct{})}
	close(g.open)
	return g
}

// If no one reads, an apply is not slowed down, and left-out events are counted.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &gate{open: make(chan struct{})}
		reporter := progress.NewFile(to)
		began := time.Now()
		for range 3000 {
			reporter.Report(deploy.Event{Kind: deploy.DeploymentStarted, Key: on("a", "b"), Doing: "installing"})
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("the reports took %s", took)
		}
		if err := reporter.Close(); err != nil || time.Since(began) != time.Second {
			t.Errorf("the end took %s (%v), want a second", time.Since(began), err)
		}
		close(to.open)
		synctest.Wait()
		lines := strings.Split(strings.TrimSpace(to.take()), "\n")
		last := lines[len(lines)-1]
		if len(lines) < 1000 || len(lines) > 1100 || !strings.Contains(last, "events were left out") {
			t.Errorf("%d lines, the last is %q", len(lines), last)
		}
	})
}

func TestTerminal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := opened()
		reporter := progress.NewTerminal(to, func() int { return 90 })
		step := func(events ...deploy.Event) string {
			for _, event := range events {
				reporter.Report(event)
			}
			time.Sleep(300 * time.Millisecond)
			synctest.Wait()
			return to.take()
		}
		web := on("eu-7", "web")
		waits := deploy.Event{Kind: deploy.DeploymentWaits, Key: web, Waits: release.Unready{Object: "Deployment shop/web", Reason: "InProgress: Available: 1/3"}, Objects: 1}
		steps := []string{
			step(),
			step(deploy.Event{Kind: deploy.ApplyStarted, Target: "apps", Total: 3}),
			step(),
			step(deploy.Event{Kind: deploy.DeploymentFailed, Key: on("a", "x"), Err: errors.New("x")}, waits),
			step(deploy.Event{Kind: deploy.DeploymentFinished, Key: web}, deploy.Event{Kind: deploy.DeploymentFinished, Key: on("b", "x")}),
			step(deploy.Event{Kind: deploy.ApplyFinished, Target: "apps"}),
			step(),
		}
		const erase = "\r\x1b[K"
		want := []string{
			"",
			erase + "change 0/3 deployments 0s\r",
			"",
			erase + "change 1/3 deployments, 1 failed, 1 waiting (eu-7/web: 1/3 pods) 0s\r",
			erase + "change 3/3 deployments, 1 failed 1s\r",
			erase + "change 3/3 deployments, 1 failed 1s\r\n",
			"",
		}
		_ = reporter.Close()
		if diff := cmp.Diff(want, steps); diff != "" {
			t.Errorf("written (-want +got):\n%s", diff)
		}
	})
}

// A line must not wrap, because a wrapped line could not be rewritten.
func TestTerminalIsNarrow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := opened()
		reporter := progress.NewTerminal(to, func() int { return 12 })
		reporter.Report(deploy.Event{Kind: deploy.ApplyStarted, Total: 3})
		_ = reporter.Close()
		if got, want := to.take(), "\r\x1b[Kchange 0/3 \r"; got != want {
			t.Errorf("written %q, want %q", got, want)
		}
	})
}

func TestOpen(t *testing.T) {
	t.Parallel()
	t.Run("a file is appended to", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "progress")
		for range 2 {
			reporter, err := progress.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			reporter.Report(deploy.Event{Kind: deploy.ApplyStarted, Target: "apps", Total: 1, Text: "+1 ~0 -0 =0"})
			_ = reporter.Close()
		}
		content, err := os.ReadFile(path)
		if err != nil || strings.Count(string(content), " target apps: started, 1 deployments to change (+1 ~0 -0 =0)\n") != 2 {
			t.Errorf("%q (%v)", content, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode of the file: %v (%v)", info.Mode(), err)
		}
	})
	t.Run("no folder", func(t *testing.T) {
		t.Parallel()
		if _, err := progress.Open(filepath.Join(t.TempDir(), "none", "progress")); err == nil {
			t.Error("no error")
		}
	})
	t.Run("a pipe", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "pipe")
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := progress.Open(path); err == nil {
			t.Error("a pipe without a reader is no error")
		}
		reader, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = reader.Close() }()
		reporter, err := progress.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		event := deploy.Event{Kind: deploy.DeploymentFailed, Key: on("a", "b"), Err: errors.New(strings.Repeat("x", 500))}
		for range 5000 { // More than a pipe buffers.
			reporter.Report(event)
		}
		first := make([]byte, 4096)
		if _, err := io.ReadFull(reader, first); err != nil || !bytes.Contains(first, []byte(" a/b: failed")) {
			t.Errorf("read %q (%v)", first[:80], err)
		}
		_ = reader.Close()
		reporter.Report(event) // The reader has ended.
		_ = reporter.Close()
	})
}

func TestNobodyAsks(t *testing.T) {
	t.Parallel()
	var reporter *progress.Reporter
	reporter.Report(deploy.Event{})
	if err := reporter.Close(); err != nil {
		t.Error(err)
	}
}
