package git_test

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/git"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
)

func newClient(t *testing.T, credentials map[string]git.Credentials) *git.Client {
	t.Helper()
	dir := t.TempDir()
	client := git.New(git.Config{Credentials: credentials, CacheDir: dir})
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

func TestResolveFullCommitAsksNobody(t *testing.T) {
	t.Parallel()
	s := gittest.New(t, gittest.Options{})
	hash := strings.Repeat("0123456789", 4)
	got, err := newClient(t, nil).Resolve(t.Context(), s.URL("any"), git.Ref{Revision: hash})
	if err != nil || got != hash || s.Requests() != 0 {
		t.Errorf("Resolve = %q, %v with %d requests, want the commit without a request", got, err, s.Requests())
	}
}

// Every way to a commit must give the same files, whatever the server allows.
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
					tree, err := newClient(t, nil).Fetch(t.Context(), s.URL("repo"), tt.commit, tt.hint)
					if err != nil {
						t.Fatal(err)
					}
					got, err := fs.ReadFile(tree, "apps/a/fleet.yaml")
					if want := "name: " + tt.want + "\n"; err != nil || string(got) != want {
						t.Errorf("fleet.yaml = %q, %v, want %q", got, err, want)
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
	if got, want := s.Requests(), 2; got != want { // What refs there are, and one pack.
		t.Errorf("%d requests, want %d", got, want)
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

func TestBasicAuth(t *testing.T) {
	t.Parallel()
	s := gittest.New(t, gittest.Options{Username: "robot", Password: "open sesame"})
	head := commit(t, s, "acme/fleet", "main", map[string]string{"a": "1"})
	base := strings.TrimSuffix(s.URL(""), "/")
	repo := s.URL("acme/fleet")
	withUser := strings.Replace(repo, "http://", "http://robot@", 1)
	right := git.Credentials{Username: "robot", Password: "open sesame"}
	wrong := git.Credentials{Username: "robot", Password: "guess"}

	tests := []struct {
		name        string
		repo        string
		credentials map[string]git.Credentials
		refused     bool
		prefix      string // That the error names.
	}{
		{"password", repo, map[string]git.Credentials{base: right}, false, ""},
		{"token", repo, map[string]git.Credentials{base: {Username: "robot", Token: "open sesame"}}, false, ""},
		{"user in the URL", withUser, map[string]git.Credentials{base: {Token: "open sesame"}}, false, ""},
		{"the longest prefix wins", repo, map[string]git.Credentials{base: wrong, base + "/acme/": right}, false, ""},
		{"none", repo, nil, true, ""},
		{"wrong", repo, map[string]git.Credentials{base: wrong}, true, base},
		{"no match inside a segment", repo, map[string]git.Credentials{base + "/ac": right}, true, ""},
		{"another scheme", repo, map[string]git.Credentials{strings.Replace(base, "http", "https", 1): right}, true, ""},
		{"another user", withUser, map[string]git.Credentials{strings.Replace(base, "http://", "http://somebody@", 1): right}, true, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			client := newClient(t, tt.credentials)
			got, err := client.Resolve(t.Context(), tt.repo, git.Ref{})
			if !tt.refused {
				if err != nil || got != head {
					t.Fatalf("Resolve = %q, %v, want %q", got, err, head)
				}
				if _, err := client.Fetch(t.Context(), tt.repo, head, git.Ref{}); err != nil {
					t.Errorf("Fetch: %v", err)
				}
				return
			}
			refusal, ok := errors.AsType[*git.AuthenticationError](err)
			if !ok || refusal.Prefix != tt.prefix {
				t.Fatalf("Resolve = %v, want an AuthenticationError for prefix %q", err, tt.prefix)
			}
			for _, secret := range []string{"open sesame", "guess"} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("the error shows a password: %v", err)
				}
			}
		})
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	s := gittest.New(t, gittest.Options{})
	commit(t, s, "repo", "main", map[string]string{"a": "1"})
	commit(t, s, "empty", "main", map[string]string{"a": "1"})
	runGit(t, s, "empty", "update-ref", "-d", "refs/heads/main")
	closed := gittest.New(t, gittest.Options{})
	closedURL := closed.URL("repo")
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	maintained := gittest.New(t, gittest.Options{})
	maintained.SetUnavailable(true)

	tests := []struct {
		name string
		repo string
		ref  git.Ref
		is   func(error) bool
	}{
		{"missing repository", s.URL("nowhere"), git.Ref{}, isType[*git.RepositoryNotFoundError]},
		{"missing branch", s.URL("repo"), git.Ref{Branch: "nope"}, isType[*git.RevisionNotFoundError]},
		{"missing revision", s.URL("repo"), git.Ref{Revision: "v9"}, isType[*git.RevisionNotFoundError]},
		{"empty repository", s.URL("empty"), git.Ref{}, isType[*git.RevisionNotFoundError]},
		{"nobody listens", closedURL, git.Ref{}, isType[*git.UnreachableError]},
		{"server in trouble", maintained.URL("repo"), git.Ref{}, isType[*git.UnreachableError]},
		{"file scheme", "file:///srv/repo", git.Ref{}, isType[*git.UnsupportedURLError]},
		{"path", "/srv/repo", git.Ref{}, isType[*git.UnsupportedURLError]},
		{"git scheme", "git://example.com/repo", git.Ref{}, isType[*git.UnsupportedURLError]},
		{"empty", "", git.Ref{}, isType[*git.UnsupportedURLError]},
		{"password in the URL", "https://me:s3cret@example.com/repo", git.Ref{}, isType[*git.UnsupportedURLError]},
		{"password in a broken URL", "https://me:s3/cret@exa mple.com:x/repo", git.Ref{}, isType[*git.UnsupportedURLError]},
		{"path that climbs", "https://example.com/acme/../evil/repo", git.Ref{}, isType[*git.UnsupportedURLError]},
		{"path that climbs in disguise", "https://example.com/acme/%252e%252e/evil", git.Ref{}, isType[*git.UnsupportedURLError]},
		{"password without a scheme", "me:s3cret@example.com:repo", git.Ref{}, isType[*git.UnsupportedURLError]},
		{"token as the user", "http://s3cret@" + strings.TrimPrefix(s.URL("nowhere"), "http://"), git.Ref{}, isType[*git.RepositoryNotFoundError]},
		{"query", "https://example.com/repo?ref=main", git.Ref{}, isType[*git.UnsupportedURLError]},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			client := newClient(t, nil)
			_, err := client.Resolve(t.Context(), tt.repo, tt.ref)
			if !tt.is(err) {
				t.Fatalf("Resolve: %T %v", err, err)
			}
			if strings.Contains(err.Error(), "s3") || strings.Contains(err.Error(), "cret") {
				t.Errorf("the error shows a password: %v", err)
			}
			if tt.ref != (git.Ref{}) {
				return
			}
			_, fetchErr := client.Fetch(t.Context(), tt.repo, strings.Repeat("ab", 20), tt.ref)
			if !tt.is(fetchErr) {
				t.Errorf("Fetch: %T %v", fetchErr, fetchErr)
			}
		})
	}
}

func isType[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func TestSSH(t *testing.T) {
	t.Parallel()
	s := gittest.New(t, gittest.Options{})
	root := commit(t, s, "acme/fleet", "main", map[string]string{"a": "1"})
	head := commit(t, s, "acme/fleet", "main", map[string]string{"a": "2"})
	stranger := gittest.New(t, gittest.Options{})
	repo := s.SSHURL("acme/fleet")
	address, err := url.Parse(repo)
	if err != nil {
		t.Fatal(err)
	}
	scp := fmt.Sprintf("git@%s:%s:acme/fleet", address.Hostname(), address.Port())
	// A line for this server's address with another server's key.
	_, otherKey, _ := strings.Cut(stranger.KnownHosts(), " ")
	ownHost, _, _ := strings.Cut(s.KnownHosts(), " ")
	right := git.Credentials{SSHPrivateKey: s.SSHKey(), KnownHosts: s.KnownHosts()}

	tests := []struct {
		name        string
		repo        string
		credentials git.Credentials
		is          func(error) bool // nil: it works.
	}{
		{"key", repo, right, nil},
		{"short form of the URL", scp, right, nil},
		{"wrong key", repo, git.Credentials{SSHPrivateKey: stranger.SSHKey(), KnownHosts: s.KnownHosts()}, isType[*git.AuthenticationError]},
		{"no key in the PEM", repo, git.Credentials{SSHPrivateKey: "hello", KnownHosts: s.KnownHosts()}, isType[*git.AuthenticationError]},
		{"unknown host", repo, git.Credentials{SSHPrivateKey: s.SSHKey(), KnownHosts: stranger.KnownHosts()}, isType[*git.HostKeyError]},
		{"changed host key", repo, git.Credentials{SSHPrivateKey: s.SSHKey(), KnownHosts: ownHost + " " + otherKey}, isType[*git.HostKeyError]},
		{"missing repository", s.SSHURL("nowhere"), right, isType[*git.RepositoryNotFoundError]},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			prefix := strings.TrimSuffix(s.SSHURL(""), "/")
			client := newClient(t, map[string]git.Credentials{prefix: tt.credentials})
			got, err := client.Resolve(t.Context(), tt.repo, git.Ref{Branch: "main"})
			if tt.is != nil {
				if !tt.is(err) {
					t.Errorf("Resolve: %T %v", err, err)
				}
				return
			}
			if err != nil || got != head {
				t.Fatalf("Resolve = %q, %v, want %q", got, err, head)
			}
			tree, err := client.Fetch(t.Context(), tt.repo, root, git.Ref{Branch: "main"})
			if err != nil {
				t.Fatal(err)
			}
			if content, err := fs.ReadFile(tree, "a"); err != nil || string(content) != "1" {
				t.Errorf("a = %q, %v, want 1", content, err)
			}
		})
	}
}

// go-git cannot be told to stop connecting.
func TestSSHStopsWithItsContext(t *testing.T) {
	t.Parallel()
	var config net.ListenConfig
	silent, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	s := gittest.New(t, gittest.Options{})
	repo := "ssh://git@" + silent.Addr().String() + "/repo"
	client := newClient(t, map[string]git.Credentials{repo: {SSHPrivateKey: s.SSHKey(), KnownHosts: s.KnownHosts()}})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		if conn, err := silent.Accept(); err == nil {
			cancel()
			<-t.Context().Done()
			_ = conn.Close()
		}
	}()
	if _, err := client.Resolve(ctx, repo, git.Ref{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Resolve: %v, want context.Canceled", err)
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	s := gittest.New(t, gittest.Options{})
	head := commit(t, s, "repo", "main", map[string]string{"a": "1"})
	behind, err := url.Parse(s.URL(""))
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewUnstartedServer(httputil.NewSingleHostReverseProxy(behind))
	front.Config.ErrorLog = log.New(io.Discard, "", 0)
	front.StartTLS()
	t.Cleanup(front.Close)
	bundle := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw}))

	tests := []struct {
		name        string
		credentials git.Credentials
		is          func(error) bool // nil: it works.
	}{
		{"bundle", git.Credentials{CABundle: bundle}, nil},
		{"insecure", git.Credentials{InsecureSkipTLSVerify: true}, nil},
		{"neither", git.Credentials{}, isType[*git.UnreachableError]},
		{"no certificate in the bundle", git.Credentials{CABundle: "hello"}, isType[*git.AuthenticationError]},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			client := newClient(t, map[string]git.Credentials{front.URL: tt.credentials})
			got, err := client.Resolve(t.Context(), front.URL+"/repo", git.Ref{})
			if tt.is == nil && (err != nil || got != head) {
				t.Errorf("Resolve = %q, %v, want %q", got, err, head)
			}
			if tt.is != nil && !tt.is(err) {
				t.Errorf("Resolve: %T %v", err, err)
			}
		})
	}
}

// Credentials must not follow a redirect to another server.
func TestRedirect(t *testing.T) {
	t.Parallel()
	s := gittest.New(t, gittest.Options{})
	head := commit(t, s, "repo", "main", map[string]string{"a": "1"})
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, strings.TrimSuffix(s.URL(""), "/")+r.URL.String(), http.StatusMovedPermanently)
	}))
	t.Cleanup(front.Close)
	guarded := gittest.New(t, gittest.Options{Username: "robot", Password: "open sesame"})
	commit(t, guarded, "repo", "main", map[string]string{"a": "1"})
	toGuarded := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, strings.TrimSuffix(guarded.URL(""), "/")+r.URL.String(), http.StatusMovedPermanently)
	}))
	t.Cleanup(toGuarded.Close)

	client := newClient(t, map[string]git.Credentials{toGuarded.URL: {Username: "robot", Password: "open sesame"}})
	if _, err := client.Fetch(t.Context(), front.URL+"/repo", head, git.Ref{}); err != nil {
		t.Errorf("Fetch of a moved repository: %v", err)
	}
	if _, err := client.Resolve(t.Context(), toGuarded.URL+"/repo", git.Ref{}); !isType[*git.AuthenticationError](err) {
		t.Errorf("Resolve = %v, want an AuthenticationError", err)
	}
}

func TestSSHWithoutKnownHosts(t *testing.T) {
	s := gittest.New(t, gittest.Options{})
	t.Setenv("SSH_KNOWN_HOSTS", t.TempDir()+"/none")
	client := newClient(t, map[string]git.Credentials{s.SSHURL(""): {SSHPrivateKey: s.SSHKey()}})
	_, err := client.Resolve(t.Context(), s.SSHURL("repo"), git.Ref{})
	if !isType[*git.HostKeyError](err) || !strings.Contains(err.Error(), "known_hosts") {
		t.Errorf("Resolve: %v, want a HostKeyError", err)
	}
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

func TestTree(t *testing.T) {
	t.Parallel()
	s := gittest.New(t, gittest.Options{})
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 12\n"
	head, err := s.CommitFS(t.Context(), "repo", "main", "everything", fstest.MapFS{
		"README.md":       {Data: []byte("hello\n"), Mode: 0o644},
		"a/run.sh":        {Data: []byte("#!/bin/sh\n"), Mode: 0o755},
		"a/b/c/values":    {Data: []byte("x: 1\n"), Mode: 0o644},
		"a-b":             {Data: []byte("sorts before a/ in git\n"), Mode: 0o644},
		"large":           {Data: []byte(strings.Repeat("0123456789abcdef", 1<<17)), Mode: 0o644},
		"links/file":      {Data: []byte("../README.md"), Mode: fs.ModeSymlink | 0o777},
		"links/folder":    {Data: []byte("../a/./b"), Mode: fs.ModeSymlink | 0o777},
		"links/through":   {Data: []byte("folder/c/values"), Mode: fs.ModeSymlink | 0o777},
		"links/dangling":  {Data: []byte("nowhere"), Mode: fs.ModeSymlink | 0o777},
		"links/absolute":  {Data: []byte("/etc/passwd"), Mode: fs.ModeSymlink | 0o777},
		"links/escaping":  {Data: []byte("../../x"), Mode: fs.ModeSymlink | 0o777},
		"links/itself":    {Data: []byte("itself"), Mode: fs.ModeSymlink | 0o777},
		"assets/logo.png": {Data: []byte(pointer), Mode: 0o644},
	})
	if err != nil {
		t.Fatal(err)
	}
	tree, err := newClient(t, nil).Fetch(t.Context(), s.URL("repo"), head, git.Ref{})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("as a file system", func(t *testing.T) {
		t.Parallel()
		sub, err := fs.Sub(tree, "a")
		if err != nil {
			t.Fatal(err)
		}
		if err := fstest.TestFS(sub, "run.sh", "b/c/values"); err != nil {
			t.Error(err)
		}
	})
	t.Run("modes", func(t *testing.T) {
		t.Parallel()
		want := map[string]string{
			".":            "dr-xr-xr-x",
			"README.md":    "-r--r--r--",
			"a/run.sh":     "-r-xr-xr-x",
			"links/file":   "-r--r--r--",
			"links/folder": "dr-xr-xr-x",
		}
		got := map[string]string{}
		for name := range want {
			info, err := fs.Stat(tree, name)
			if err != nil {
				t.Fatal(err)
			}
			got[name] = info.Mode().String()
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("listing", func(t *testing.T) {
		t.Parallel()
		entries, err := fs.ReadDir(tree, ".")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, entry := range entries {
			got = append(got, entry.Name())
		}
		if diff := cmp.Diff([]string{"README.md", "a", "a-b", "assets", "large", "links"}, got); diff != "" {
			t.Error(diff)
		}
	})
	read := []struct{ name, path, want string }{
		{"plain", "a/b/c/values", "x: 1\n"},
		{"link", "links/file", "hello\n"},
		{"through a linked folder", "links/folder/c/values", "x: 1\n"},
		{"through two links", "links/through", "x: 1\n"},
		{"large", "large", strings.Repeat("0123456789abcdef", 1<<17)},
	}
	for _, tt := range read {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := fs.ReadFile(tree, tt.path)
			if err != nil || string(got) != tt.want {
				t.Errorf("ReadFile(%s) = %.40q, %v, want %.40q", tt.path, got, err, tt.want)
			}
		})
	}
	failing := []struct {
		name, path string
		is         func(error) bool
	}{
		{"missing", "nope", func(err error) bool { return errors.Is(err, fs.ErrNotExist) }},
		{"below a file", "README.md/x", func(err error) bool { return errors.Is(err, fs.ErrNotExist) }},
		{"dangling link", "links/dangling", func(err error) bool { return errors.Is(err, fs.ErrNotExist) }},
		{"absolute link", "links/absolute", func(err error) bool { return errors.Is(err, git.ErrOutsideTree) }},
		{"escaping link", "links/escaping", func(err error) bool { return errors.Is(err, git.ErrOutsideTree) }},
		{"link to itself", "links/itself", func(err error) bool { return err != nil }},
		{"path with dots", "../x", func(err error) bool { return errors.Is(err, fs.ErrInvalid) }},
		{"LFS pointer", "assets/logo.png", isType[*git.LFSPointerError]},
	}
	for _, tt := range failing {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, err := fs.ReadFile(tree, tt.path); !tt.is(err) {
				t.Errorf("ReadFile(%s): %v", tt.path, err)
			}
		})
	}
	t.Run("links are seen as links", func(t *testing.T) {
		t.Parallel()
		target, err := fs.ReadLink(tree, "links/escaping")
		if err != nil || target != "../../x" {
			t.Errorf("ReadLink = %q, %v", target, err)
		}
		info, err := fs.Lstat(tree, "links/escaping")
		if err != nil || info.Mode().Type() != fs.ModeSymlink {
			t.Errorf("Lstat = %v, %v, want a symbolic link", info, err)
		}
	})
}
