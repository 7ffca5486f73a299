package git_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/git"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
)

// fetchWith fetches a commit as a process of its own would.
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

// What one process has fetched another one reads without a request.
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

	// What is damaged is fetched again.
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

	// What nobody has read for a while goes when something is added.
	long := time.Now().Add(-30 * 24 * time.Hour)
	if err := os.Chtimes(kept[0], long, long); err != nil {
		t.Fatal(err)
	}
	fetchWith(t, cacheDir, server.URL("fleet"), commit(t, server, "fleet", "main", map[string]string{"a": "2"}))
	if left := packs(t, cacheDir); len(left) != 1 || left[0] == kept[0] {
		t.Errorf("kept: %v", left)
	}
}
