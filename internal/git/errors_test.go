package git_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/git"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
)

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

	strange := gittest.New(t, gittest.Options{ObjectFormat: "sha256"})
	commit(t, strange, "repo", "main", map[string]string{"a": "1"})
	website := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "<html>welcome</html>")
	}))
	t.Cleanup(website.Close)

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
		{"a website", website.URL + "/repo", git.Ref{}, isType[*git.UnreachableError]},
		{"SHA-256 objects", strange.URL("repo"), git.Ref{}, isType[*git.ObjectFormatError]},
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
		{"token in a query", "https://example.com/repo?token=s3cret", git.Ref{}, isType[*git.UnsupportedURLError]},
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

// both runs a test over HTTP and over SSH.
func both(t *testing.T, options gittest.Options, config git.Config, run func(t *testing.T, s *gittest.Server, client *git.Client, at func(repo string) string)) {
	t.Helper()
	for _, scheme := range []string{"http", "ssh"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			s := gittest.New(t, options)
			own := config
			own.CacheDir = t.TempDir()
			own.Credentials = map[string]git.Credentials{s.SSHURL(""): {SSHPrivateKey: secret.Hide(s.SSHKey()), KnownHosts: s.KnownHosts()}}
			client := git.New(own)
			t.Cleanup(func() {
				if err := client.Close(); err != nil {
					t.Errorf("closing the client: %v", err)
				}
			})
			at := s.URL
			if scheme == "ssh" {
				at = s.SSHURL
			}
			run(t, s, client, at)
		})
	}
}

func TestTruncatedPack(t *testing.T) {
	t.Parallel()
	for _, after := range []int{700, 5_000, 50_000} {
		t.Run(fmt.Sprintf("after %d bytes", after), func(t *testing.T) {
			t.Parallel()
			both(t, gittest.Options{BreakAfter: after}, git.Config{}, func(t *testing.T, s *gittest.Server, client *git.Client, at func(string) string) {
				t.Helper()
				head := commit(t, s, "repo", "main", map[string]string{"noise": noise(100_000)})
				_, err := client.Fetch(t.Context(), at("repo"), head, git.Ref{Branch: "main"})
				if got, ok := errors.AsType[*git.PackError](err); !ok || got.Received > int64(after) {
					t.Errorf("Fetch: %v, want a PackError of at most %d bytes", err, after)
				}
			})
		})
	}
}

func TestStalledPack(t *testing.T) {
	t.Parallel()
	options := gittest.Options{BreakAfter: 5_000, Stall: true}
	both(t, options, git.Config{StallTimeout: 300 * time.Millisecond}, func(t *testing.T, s *gittest.Server, client *git.Client, at func(string) string) {
		t.Helper()
		head := commit(t, s, "repo", "main", map[string]string{"noise": noise(100_000)})
		_, err := client.Fetch(t.Context(), at("repo"), head, git.Ref{Branch: "main"})
		if !isType[*git.TimeoutError](err) {
			t.Errorf("Fetch: %v, want a TimeoutError", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := client.Fetch(ctx, at("repo"), head, git.Ref{Branch: "main"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Fetch: %v, want the context's own error", err)
		}
	})
}

// A server that accepts a connection and sends nothing causes a timeout.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	var config net.ListenConfig
	silent, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	s := gittest.New(t, gittest.Options{})
	credentials := map[string]git.Credentials{"ssh://" + silent.Addr().String(): {SSHPrivateKey: secret.Hide(s.SSHKey()), KnownHosts: s.KnownHosts()}}
	for _, scheme := range []string{"http", "https", "ssh"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			client := git.New(git.Config{Credentials: credentials, TempDir: t.TempDir(), StallTimeout: 200 * time.Millisecond})
			defer func() { _ = client.Close() }()
			_, err := client.Resolve(t.Context(), scheme+"://"+silent.Addr().String()+"/repo", git.Ref{})
			if got, ok := errors.AsType[*git.TimeoutError](err); !ok || got.After != 200*time.Millisecond {
				t.Errorf("Resolve: %v, want a TimeoutError", err)
			}
		})
	}
}

// slowBody returns a few bytes with every tick.
type slowBody struct {
	io.ReadCloser

	ticker *time.Ticker
}

func (b *slowBody) Read(p []byte) (int, error) {
	<-b.ticker.C
	return b.ReadCloser.Read(p[:min(len(p), 2_000)])
}

// A slow server that keeps sending causes no timeout, however long the fetch takes. A busy machine
// can be silent for longer than a short timeout, so longer ones are tried next.
func TestSlowServer(t *testing.T) {
	t.Parallel()
	s := gittest.New(t, gittest.Options{})
	head := commit(t, s, "repo", "main", map[string]string{"noise": noise(50_000)})
	var err error
	for timeout := 2 * time.Second; timeout <= 32*time.Second; timeout *= 2 {
		if err = fetchSlowly(t, s, head, timeout); err == nil {
			return
		}
		t.Logf("with a timeout of %s: %v", timeout, err)
	}
	t.Error(err)
}

// fetchSlowly fetches the commit from a server that needs longer than the timeout for it, and sends
// a few bytes 20 times within the timeout.
func fetchSlowly(t *testing.T, s *gittest.Server, head string, timeout time.Duration) error {
	t.Helper()
	behind, err := url.Parse(s.URL(""))
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(behind)
	proxy.FlushInterval = -1
	proxy.ModifyResponse = func(response *http.Response) error {
		response.Body = &slowBody{response.Body, time.NewTicker(timeout / 20)}
		return nil
	}
	slow := httptest.NewServer(proxy)
	defer slow.Close()
	client := git.New(git.Config{TempDir: t.TempDir(), StallTimeout: timeout})
	defer func() { _ = client.Close() }()
	begin := time.Now()
	_, err = client.Fetch(t.Context(), slow.URL+"/repo", head, git.Ref{})
	if took := time.Since(begin); err == nil && took < timeout {
		t.Errorf("the fetch took %s: the server was not slow", took)
	}
	return err
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	both(t, gittest.Options{}, git.Config{MaxSize: 60_000}, func(t *testing.T, s *gittest.Server, client *git.Client, at func(string) string) {
		t.Helper()
		fits := commit(t, s, "fits", "main", map[string]string{"noise": noise(40_000)})
		if _, err := client.Fetch(t.Context(), at("fits"), fits, git.Ref{}); err != nil {
			t.Errorf("Fetch of what fits: %v", err)
		}
		large := commit(t, s, "large", "main", map[string]string{"noise": noise(80_000)})
		if _, err := client.Fetch(t.Context(), at("large"), large, git.Ref{}); !isType[*git.SizeError](err) {
			t.Errorf("Fetch: %v, want a SizeError", err)
		}
		// The pack is small until it is inflated.
		bomb := commit(t, s, "bomb", "main", map[string]string{"zeros": strings.Repeat("\x00", 1_000_000)})
		if _, err := client.Fetch(t.Context(), at("bomb"), bomb, git.Ref{}); !isType[*git.SizeError](err) {
			t.Errorf("Fetch: %v, want a SizeError", err)
		}
	})
}

func TestUnreadableStore(t *testing.T) {
	t.Parallel()
	s := gittest.New(t, gittest.Options{})
	head := commit(t, s, "repo", "main", map[string]string{"a": "1"})
	client := git.New(git.Config{TempDir: t.TempDir() + "/none"})
	defer func() { _ = client.Close() }()
	if _, err := client.Fetch(t.Context(), s.URL("repo"), head, git.Ref{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Fetch: %v, want fs.ErrNotExist", err)
	}
}

// noise is text that does not compress, always the same.
func noise(size int) string {
	b := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{}).Read(b)
	return string(b)
}
