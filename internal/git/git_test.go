package git_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fetch"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/git"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
)

// newClient makes a client. Repositories and redirects may name the servers of named.
func newClient(t *testing.T, credentials map[string]git.Credentials, named ...string) *git.Client {
	t.Helper()
	dir := t.TempDir()
	var boundary fetch.Boundary
	for _, address := range named {
		at, err := git.ScopeOf(address)
		if err != nil {
			t.Fatal(err)
		}
		boundary.Named = append(boundary.Named, at)
	}
	client := git.New(git.Config{Credentials: credentials, TempDir: dir, Boundary: boundary})
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Errorf("closing the client: %v", err)
		}
		left, err := os.ReadDir(dir)
		if err != nil || len(left) > 0 {
			t.Errorf("the closed client left %v in its folder (%v)", left, err)
		}
	})
	return client
}

func commit(t *testing.T, s *gittest.Server, repo, branch string, files map[string]string) string {
	t.Helper()
	hash, err := s.Commit(t.Context(), repo, branch, "change", files)
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

func runGit(t *testing.T, s *gittest.Server, repo string, args ...string) string {
	t.Helper()
	out, err := s.Git(t.Context(), repo, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestResolve(t *testing.T) {
	t.Parallel()
	s := gittest.New(t, gittest.Options{})
	first := commit(t, s, "acme/fleet", "main", map[string]string{"a": "1"})
	second := commit(t, s, "acme/fleet", "main", map[string]string{"a": "2"})
	other := commit(t, s, "acme/fleet", "feature/x", map[string]string{"a": "3"})
	runGit(t, s, "acme/fleet", "tag", "light", first)
	runGit(t, s, "acme/fleet", "tag", "-a", "-m", "release", "v1.0.0", first)
	runGit(t, s, "acme/fleet", "tag", "-a", "-m", "a tag of a tag", "nested", "v1.0.0")
	runGit(t, s, "acme/fleet", "tag", "both", first)
	runGit(t, s, "acme/fleet", "update-ref", "refs/heads/both", second)
	client := newClient(t, nil)

	tests := []struct {
		name string
		ref  git.Ref
		want string
	}{
		{"HEAD", git.Ref{}, second},
		{"branch", git.Ref{Branch: "main"}, second},
		{"branch with a slash", git.Ref{Branch: "feature/x"}, other},
		{"lightweight tag", git.Ref{Revision: "light"}, first},
		{"annotated tag", git.Ref{Revision: "v1.0.0"}, first},
		{"tag of a tag", git.Ref{Revision: "nested"}, first},
		{"a tag wins over a branch", git.Ref{Revision: "both"}, first},
		{"a branch as branch", git.Ref{Branch: "both"}, second},
		{"a branch as revision", git.Ref{Revision: "feature/x"}, other},
		{"full name", git.Ref{Revision: "refs/heads/both"}, second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := client.Resolve(t.Context(), s.URL("acme/fleet"), tt.ref)
			if err != nil || got != tt.want {
				t.Errorf("Resolve = %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

func TestResolveFullCommitSendsNoRequest(t *testing.T) {
	t.Parallel()
	s := gittest.New(t, gittest.Options{})
	hash := strings.Repeat("0123456789", 4)
	got, err := newClient(t, nil).Resolve(t.Context(), s.URL("any"), git.Ref{Revision: hash})
	if err != nil || got != hash || s.Requests() != 0 {
		t.Errorf("Resolve = %q, %v with %d requests, want the commit without a request", got, err, s.Requests())
	}
}

// Every way to a commit must return the same files, with and without AllowReachableSHA1InWant.
func TestFetch(t *testing.T) {
	t.Parallel()
	for _, anyCommit := range []bool{true, false} {
		t.Run(fmt.Sprintf("AllowReachableSHA1InWant=%t", anyCommit), func(t *testing.T) {
			t.Parallel()
			s := gittest.New(t, gittest.Options{AllowReachableSHA1InWant: anyCommit})
			root := commit(t, s, "repo", "main", map[string]string{"apps/a/fleet.yaml": "name: root\n"})
			for i := range 60 { // More than is fetched before the whole branch is.
				commit(t, s, "repo", "main", map[string]string{"apps/a/fleet.yaml": fmt.Sprintf("name: at%d\n", i)})
			}
			past := commit(t, s, "repo", "main", map[string]string{"apps/a/fleet.yaml": "name: past\n"})
			head := commit(t, s, "repo", "main", map[string]string{"apps/a/fleet.yaml": "name: head\n"})
			elsewhere := commit(t, s, "repo", "other", map[string]string{"apps/a/fleet.yaml": "name: elsewhere\n"})
			commit(t, s, "repo", "other", map[string]string{"apps/a/fleet.yaml": "name: x\n"})
			tagged := commit(t, s, "repo", "gone", map[string]string{"apps/a/fleet.yaml": "name: tagged\n"})
			runGit(t, s, "repo", "tag", "-a", "-m", "release", "v1", tagged)
			runGit(t, s, "repo", "update-ref", "-d", "refs/heads/gone")

			tests := []struct {
				name   string
				commit string
				hint   git.Ref
				want   string
			}{
				{"head of the branch", head, git.Ref{Branch: "main"}, "head"},
				{"head without a hint", head, git.Ref{}, "head"},
				{"just behind the head", past, git.Ref{Branch: "main"}, "past"},
				{"far behind the head", root, git.Ref{Branch: "main"}, "root"},
				{"no hint, another branch", elsewhere, git.Ref{}, "elsewhere"},
				{"the hint names a deleted branch", elsewhere, git.Ref{Branch: "deleted"}, "elsewhere"},
				{"only an annotated tag leads there", tagged, git.Ref{Revision: "v1"}, "tagged"},
			}
			for _, tt := range tests {
				t.Run(tt.name, func(t *testing.T) {
					t.Parallel()
					for _, at := range []string{s.URL("repo"), s.SSHURL("repo")} {
						client := newClient(t, map[string]git.Credentials{s.SSHURL(""): {SSHPrivateKey: secret.Hide(s.SSHKey()), KnownHosts: s.KnownHosts()}})
						tree, err := client.Fetch(t.Context(), at, tt.commit, tt.hint)
						if err != nil {
							t.Fatal(err)
						}
						got, err := fs.ReadFile(tree, "apps/a/fleet.yaml")
						if want := "name: " + tt.want + "\n"; err != nil || string(got) != want {
							t.Errorf("fleet.yaml = %q, %v, want %q", got, err, want)
						}
					}
				})
			}
			for _, hint := range []git.Ref{{}, {Branch: "main"}} {
				unknown := strings.Repeat("ab", 20)
				_, err := newClient(t, nil).Fetch(t.Context(), s.URL("repo"), unknown, hint)
				if got, ok := errors.AsType[*git.RevisionNotFoundError](err); !ok || !strings.Contains(got.Revision, unknown) {
					t.Errorf("Fetch of an unknown commit with hint %v: %v, want a RevisionNotFoundError", hint, err)
				}
			}
		})
	}
}

func TestFetchIsShared(t *testing.T) {
	t.Parallel()
	s := gittest.New(t, gittest.Options{})
	head := commit(t, s, "repo", "main", map[string]string{"a": "1", "b/c": "2"})
	client := newClient(t, nil)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			tree, err := client.Fetch(t.Context(), s.URL("repo"), head, git.Ref{Branch: "main"})
			if err != nil {
				t.Error(err)
				return
			}
			if err := fstest.TestFS(tree, "a", "b/c"); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if got, want := s.Requests(), 2; got != want { // The refs, and one pack.
		t.Errorf("%d requests, want %d", got, want)
	}
}

// A commit that was fetched is not requested again.
func TestRequests(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"http", "ssh"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			s := gittest.New(t, gittest.Options{})
			head := commit(t, s, "repo", "main", map[string]string{"a": "1"})
			client := newClient(t, map[string]git.Credentials{s.SSHURL(""): {SSHPrivateKey: secret.Hide(s.SSHKey()), KnownHosts: s.KnownHosts()}})
			at, forFetch := s.URL("repo"), 2
			if scheme == "ssh" {
				at, forFetch = s.SSHURL("repo"), 1 // One command does both.
			}
			steps := []struct {
				name string
				do   func() error
				want int
			}{
				{"resolve", func() error { _, err := client.Resolve(t.Context(), at, git.Ref{Branch: "main"}); return err }, 1},
				{"resolve again", func() error { _, err := client.Resolve(t.Context(), at, git.Ref{Branch: "main"}); return err }, 1},
				{"fetch", func() error { _, err := client.Fetch(t.Context(), at, head, git.Ref{Branch: "main"}); return err }, forFetch},
				{"fetch again", func() error { _, err := client.Fetch(t.Context(), at, head, git.Ref{}); return err }, 0},
			}
			for _, step := range steps {
				before := s.Requests()
				if err := step.do(); err != nil {
					t.Fatalf("%s: %v", step.name, err)
				}
				if got := s.Requests() - before; got != step.want {
					t.Errorf("%s: %d requests, want %d", step.name, got, step.want)
				}
			}
		})
	}
}

// One commit is fetched and not its history, other branches or tags.
func TestFetchIsShallow(t *testing.T) {
	t.Parallel()
	for _, anyCommit := range []bool{true, false} {
		t.Run(fmt.Sprintf("AllowReachableSHA1InWant=%t", anyCommit), func(t *testing.T) {
			t.Parallel()
			both(t, gittest.Options{AllowReachableSHA1InWant: anyCommit}, git.Config{MaxSize: 50_000}, func(t *testing.T, s *gittest.Server, client *git.Client, at func(string) string) {
				t.Helper()
				commit(t, s, "repo", "main", map[string]string{"past": noise(100_000)})
				runGit(t, s, "repo", "tag", "large", "main")
				head := commit(t, s, "repo", "main", map[string]string{"a": "1"})
				commit(t, s, "repo", "other", map[string]string{"elsewhere": noise(100_000)})
				if _, err := client.Fetch(t.Context(), at("repo"), head, git.Ref{Branch: "main"}); err != nil {
					t.Error(err)
				}
				behind := commit(t, s, "moving", "main", map[string]string{"a": "1"})
				commit(t, s, "moving", "main", map[string]string{"a": "2"})
				commit(t, s, "moving", "other", map[string]string{"elsewhere": noise(100_000)})
				if _, err := client.Fetch(t.Context(), at("moving"), behind, git.Ref{}); err != nil {
					t.Errorf("behind the head: %v", err)
				}
			})
		})
	}
}

// Azure DevOps refuses clients that do not request multi_ack.
func TestMultiACK(t *testing.T) {
	t.Parallel()
	s := gittest.New(t, gittest.Options{RequireMultiACK: true})
	past := commit(t, s, "my project/_git/repo", "main", map[string]string{"a": "1"})
	head := commit(t, s, "my project/_git/repo", "main", map[string]string{"a": "2"})
	for _, hash := range []string{head, past} {
		if _, err := newClient(t, nil).Fetch(t.Context(), s.URL("my project/_git/repo"), hash, git.Ref{Branch: "main"}); err != nil {
			t.Error(err)
		}
	}
}

func TestFetchOutlivesACancelledLeader(t *testing.T) {
	t.Parallel()
	s := gittest.New(t, gittest.Options{})
	head := commit(t, s, "repo", "main", map[string]string{"a": "1"})
	client := newClient(t, nil)
	cancelled, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := client.Fetch(cancelled, s.URL("repo"), head, git.Ref{}); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled Fetch: %v", err)
		}
	})
	group.Go(func() {
		if _, err := client.Fetch(t.Context(), s.URL("repo"), head, git.Ref{}); err != nil {
			t.Errorf("the other Fetch: %v", err)
		}
	})
	cancel()
	group.Wait()
}

func TestClosed(t *testing.T) {
	t.Parallel()
	s := gittest.New(t, gittest.Options{})
	head := commit(t, s, "repo", "main", map[string]string{"a": "1"})
	client := newClient(t, nil)
	tree, err := client.Fetch(t.Context(), s.URL("repo"), head, git.Ref{})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := fs.ReadFile(tree, "a"); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("reading after Close: %v, want fs.ErrClosed", err)
	}
	if _, err := client.Fetch(t.Context(), s.URL("repo"), head, git.Ref{}); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("fetching after Close: %v, want fs.ErrClosed", err)
	}
}

func isType[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
