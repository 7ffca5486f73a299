package gittest_test

import (
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
)

// clone lets git itself clone from the server and returns the folder.
func clone(t *testing.T, address, sshCommand string) (dir string, err error) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "clone")
	cmd := exec.CommandContext(t.Context(), "git", "clone", "--quiet", address, dir)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_SSH_COMMAND=" + sshCommand,
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Logf("%s", out)
		return "", err
	}
	return dir, nil
}

func TestGitReadsWhatWasCommitted(t *testing.T) {
	t.Parallel()
	s := gittest.New(t, gittest.Options{Username: "me", Password: "pass word", Log: t.Output()})
	files := fstest.MapFS{
		"README":   {Data: []byte("hello\n"), Mode: 0o644},
		"a/run.sh": {Data: []byte("#!/bin/sh\n"), Mode: 0o755},
		"a/link":   {Data: []byte("../README"), Mode: fs.ModeSymlink | 0o777},
		"empty":    {Mode: 0o644},
	}
	if _, err := s.Commit(t.Context(), "acme/fleet", "main", "first", map[string]string{"gone": "x"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.CommitFS(t.Context(), "acme/fleet", "main", "second", files); err != nil {
		t.Fatal(err)
	}
	if _, err := clone(t, s.URL("acme/fleet"), ""); err == nil {
		t.Error("git could read without a password")
	}
	address, err := url.Parse(s.URL("acme/fleet"))
	if err != nil {
		t.Fatal(err)
	}
	address.User = url.UserPassword("me", "pass word")
	dir, err := clone(t, address.String(), "")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	err = fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if entry.IsDir() && entry.Name() == ".git" {
			return fs.SkipDir
		}
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		content, err := os.ReadFile(filepath.Join(dir, name))
		got[name] = info.Mode().String()[:4] + " " + string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"README": "-rw- hello\n", "a/run.sh": "-rwx #!/bin/sh\n", "a/link": "Lrwx hello\n", "empty": "-rw- ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestEqualHistoriesHaveEqualCommits(t *testing.T) {
	t.Parallel()
	commits := make([]string, 2)
	for i := range commits {
		s := gittest.New(t, gittest.Options{})
		for _, content := range []string{"1", "2"} {
			var err error
			if commits[i], err = s.Commit(t.Context(), "repo", "main", "change", map[string]string{"a": content}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if commits[0] != commits[1] {
		t.Errorf("commits %s and %s differ", commits[0], commits[1])
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	s := gittest.New(t, gittest.Options{})
	if _, err := s.Commit(t.Context(), "repo", "main", "change", map[string]string{"a": "1"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete("repo"); err != nil {
		t.Fatal(err)
	}
	if _, err := clone(t, s.URL("repo"), ""); err == nil {
		t.Error("git could read a deleted repository")
	}
	for _, name := range []string{"", "..", "../x", "/"} {
		if err := s.Delete(name); err == nil || !strings.Contains(err.Error(), "repository") {
			t.Errorf("Delete(%q): %v, want an error", name, err)
		}
	}
}
