package git_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/git"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
)

// fetchWith fetches a commit with a new client, as another process would.
func fetchWith(t *testing.T, cacheDir, repo, commit string) map[string]string {
	t.Helper()
	client := git.New(git.Config{CacheDir: cacheDir})
	defer func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	}()
	tree, err := client.Fetch(t.Context(), repo, commit, git.Ref{Branch: "main"})
	if err != nil {
		t.Fatal(err)
	}
	return files(t, tree)
}

func packs(t *testing.T, cacheDir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(cacheDir, "fleet-git-packs", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// A commit that one process has fetched is read by another process without a request.
func TestCache(t *testing.T) {
	t.Parallel()
	server := gittest.New(t, gittest.Options{})
	first := commit(t, server, "fleet", "main", map[string]string{"a": "1"})
	cacheDir := t.TempDir()
	want := fetchWith(t, cacheDir, server.URL("fleet"), first)

	before := server.Requests()
	if diff := cmp.Diff(want, fetchWith(t, cacheDir, server.URL("fleet"), first)); diff != "" {
		t.Errorf("files (-fetched +kept):\n%s", diff)
	}
	if requests := server.Requests() - before; requests != 0 {
		t.Errorf("%d requests for a commit that was kept", requests)
	}

	// A damaged pack is fetched again.
	kept := packs(t, cacheDir)
	if len(kept) != 1 {
		t.Fatalf("kept: %v", kept)
	}
	content, err := os.ReadFile(kept[0])
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)/2] ^= 0xff
	if err := os.WriteFile(kept[0], content, 0o600); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, fetchWith(t, cacheDir, server.URL("fleet"), first)); diff != "" {
		t.Errorf("files (-fetched +fetched again):\n%s", diff)
	}

	// A pack that was not read for a while is removed when another pack is added.
	long := time.Now().Add(-30 * 24 * time.Hour)
	if err := os.Chtimes(kept[0], long, long); err != nil {
		t.Fatal(err)
	}
	fetchWith(t, cacheDir, server.URL("fleet"), commit(t, server, "fleet", "main", map[string]string{"a": "2"}))
	if left := packs(t, cacheDir); len(left) != 1 || left[0] == kept[0] {
		t.Errorf("kept: %v", left)
	}
}

// A cancelled read must not remove the pack.
func TestCacheKeepsPacksOfCancelledReads(t *testing.T) {
	t.Parallel()
	server := gittest.New(t, gittest.Options{})
	first := commit(t, server, "fleet", "main", map[string]string{"a": "1"})
	cacheDir := t.TempDir()
	fetchWith(t, cacheDir, server.URL("fleet"), first)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	var clients []*git.Client
	for range 50 { // It is random whether a fetch begins to read.
		client := git.New(git.Config{CacheDir: cacheDir})
		clients = append(clients, client)
		if _, err := client.Fetch(cancelled, server.URL("fleet"), first, git.Ref{Branch: "main"}); !errors.Is(err, context.Canceled) {
			t.Errorf("error = %v", err)
		}
	}
	for _, client := range clients {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	}
	if left := packs(t, cacheDir); len(left) != 1 {
		t.Errorf("kept: %v", left)
	}
}

// Folders of processes that were killed are removed a day later.
func TestFoldersOfKilledProcesses(t *testing.T) {
	t.Parallel()
	server := gittest.New(t, gittest.Options{})
	first := commit(t, server, "fleet", "main", map[string]string{"a": "1"})
	dir := t.TempDir()
	long := time.Now().Add(-25 * time.Hour)
	tests := map[string]struct{ old, want bool }{
		"fleet-git-123":      {old: true, want: false},
		"fleet-git-456":      {old: false, want: true},
		"fleet-git-packs":    {old: true, want: true},
		"fleet-git-mine":     {old: true, want: true},
		"someone-elses-1234": {old: true, want: true},
	}
	for name, test := range tests {
		if err := os.MkdirAll(filepath.Join(dir, name, "sub"), 0o700); err != nil {
			t.Fatal(err)
		}
		if test.old {
			if err := os.Chtimes(filepath.Join(dir, name), long, long); err != nil {
				t.Fatal(err)
			}
		}
	}
	client := git.New(git.Config{TempDir: dir})
	if _, err := client.Fetch(t.Context(), server.URL("fleet"), first, git.Ref{Branch: "main"}); err != nil {
		t.Fatal(err)
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	for name, test := range tests {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != test.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
