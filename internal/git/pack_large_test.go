//go:build !race

package git_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/git"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
)

// Files of every size and similarity are read unchanged, with any chains of deltas that the
// server makes.
func TestPacksOfAllKinds(t *testing.T) {
	t.Parallel()
	s := gittest.New(t, gittest.Options{})
	want := map[string]string{"empty": "", "small": "a", "large": noise(17 << 20)}
	// Similar files larger than the memory for objects, and small similar files. They grow and
	// shrink, so that there are deltas in both directions.
	want["large-changed"] = want["large"][:10<<20] + "changed" + want["large"][10<<20:]
	want["middle"] = want["large"][5<<20 : 14<<20]
	base := noise(10_000)
	for i := range 60 {
		want[fmt.Sprintf("alike/%02d", i)] = base[:5000+i*50] + strconv.Itoa(i) + base[3000:]
	}
	commit(t, s, "repo", "main", map[string]string{"a": "1"})
	runGit(t, s, "repo", "config", "core.compression", "1")
	head := commit(t, s, "repo", "main", want)
	runGit(t, s, "repo", "repack", "-adfq", "--depth=200", "--window=10")
	for _, scheme := range []string{"http", "ssh"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			url := s.URL("repo")
			if scheme == "ssh" {
				url = s.SSHURL("repo")
			}
			client := newClient(t, map[string]git.Credentials{s.SSHURL(""): {SSHPrivateKey: secret.Hide(s.SSHKey()), KnownHosts: s.KnownHosts()}})
			tree, err := client.Fetch(t.Context(), url, head, git.Ref{})
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // The second time from the cache of objects.
				for name, content := range want {
					got, err := fs.ReadFile(tree, name)
					if err != nil || string(got) != content {
						t.Errorf("ReadFile(%s): %d bytes, %v, want %d", name, len(got), err, len(content))
					}
					info, err := fs.Stat(tree, name)
					if err != nil || info.Size() != int64(len(content)) {
						t.Errorf("Stat(%s): %v, %v, want %d bytes", name, info, err, len(content))
					}
				}
			}
		})
	}
}

// The memory of a whole process is measured, so another process fetches.
func TestMemoryStaysBounded(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("the peak of a process's memory is read from /proc")
	}
	const large = 100 // MiB
	s := gittest.New(t, gittest.Options{})
	commit(t, s, "small", "main", map[string]string{"a": "1"})
	commit(t, s, "large", "main", map[string]string{"a": "1"})
	runGit(t, s, "large", "config", "core.compression", "0") // For speed.
	runGit(t, s, "large", "config", "core.bigFileThreshold", "1m")
	commit(t, s, "large", "main", map[string]string{"blob": noise(large << 20)})
	peak := func(repo string) int64 {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMemoryChild$")
		report := filepath.Join(t.TempDir(), "peak")
		child.Env = append(os.Environ(), "FLEET_TEST_REPO="+s.URL(repo), "FLEET_TEST_REPORT="+report)
		if out, err := child.CombinedOutput(); err != nil {
			t.Fatalf("the other process: %v: %s", err, out)
		}
		content, err := os.ReadFile(report)
		if err != nil {
			t.Fatal(err)
		}
		kilobytes, err := strconv.ParseInt(string(content), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return kilobytes << 10
	}
	few, many := peak("small"), peak("large")
	t.Logf("peak of a small repository %d MiB, of a large one %d MiB", few>>20, many>>20)
	if grown := many - few; grown > 40<<20 {
		t.Errorf("a file of %d MiB takes %d MiB of memory, want at most 40", large, grown>>20)
	}
}

// TestMemoryChild runs in a process of its own.
func TestMemoryChild(t *testing.T) {
	repo := os.Getenv("FLEET_TEST_REPO")
	if repo == "" {
		t.Skip("TestMemoryStaysBounded runs this")
	}
	client := newClient(t, nil)
	head, err := client.Resolve(t.Context(), repo, git.Ref{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Fetch(t.Context(), repo, head, git.Ref{}); err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	if found == nil {
		t.Fatal("/proc/self/status has no VmHWM")
	}
	if err := os.WriteFile(os.Getenv("FLEET_TEST_REPORT"), found[1], 0o600); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkFetch2000 fetches a repository of 2,000 folders over HTTP and reads
// all of it.
func BenchmarkFetch2000(b *testing.B) {
	s := gittest.New(b, gittest.Options{})
	files := make(map[string]string, 3*2000)
	for i := range 2000 {
		folder := fmt.Sprintf("apps/%d/app-%d/", i%20, i)
		files[folder+"fleet.yaml"] = fmt.Sprintf("defaultNamespace: app-%d\nhelm:\n  values:\n    replicas: %d\n", i, i%5)
		files[folder+"deployment.yaml"] = strings.Repeat(fmt.Sprintf("# app %d\nkind: Deployment\n", i), 40)
		files[folder+"service.yaml"] = fmt.Sprintf("kind: Service\nmetadata:\n  name: app-%d\n", i)
	}
	head, err := s.Commit(b.Context(), "repo", "main", "everything", files)
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	b.ReportAllocs()
	for b.Loop() {
		client := git.New(git.Config{TempDir: dir})
		tree, err := client.Fetch(b.Context(), s.URL("repo"), head, git.Ref{Branch: "main"})
		if err != nil {
			b.Fatal(err)
		}
		read := 0
		err = fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			read++
			_, err = fs.ReadFile(tree, name)
			return err
		})
		if err != nil || read != len(files) {
			b.Fatalf("read %d files of %d: %v", read, len(files), err)
		}
		if err := client.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
