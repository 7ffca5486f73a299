package git_test

import (
	"cmp"
	"context"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/git"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
)

func TestBasicAuth(t *testing.T) {
	t.Parallel()
	s := gittest.New(t, gittest.Options{Username: "robot", Password: "open sesame"})
	head := commit(t, s, "acme/fleet", "main", map[string]string{"a": "1"})
	base := strings.TrimSuffix(s.URL(""), "/")
	repo := s.URL("acme/fleet")
	withUser := strings.Replace(repo, "http://", "http://robot@", 1)
	right := git.Credentials{Username: "robot", Password: secret.Hide("open sesame")}
	wrong := git.Credentials{Username: "robot", Password: secret.Hide("guess")}

	tests := []struct {
		name        string
		repo        string
		credentials map[string]git.Credentials
		refused     bool
		prefix      string // In the error.
	}{
		{"password", repo, map[string]git.Credentials{base: right}, false, ""},
		{"token", repo, map[string]git.Credentials{base: {Username: "robot", Token: secret.Hide("open sesame")}}, false, ""},
		{"user in the URL", withUser, map[string]git.Credentials{base: {Token: secret.Hide("open sesame")}}, false, ""},
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

// overTLS serves s over TLS, with a certificate for 127.0.0.1 and example.com.
func overTLS(t *testing.T, s *gittest.Server) *httptest.Server {
	t.Helper()
	behind, err := url.Parse(s.URL(""))
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewUnstartedServer(httputil.NewSingleHostReverseProxy(behind))
	front.Config.ErrorLog = log.New(io.Discard, "", 0)
	front.StartTLS()
	t.Cleanup(front.Close)
	return front
}

func bundleOf(front *httptest.Server) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw}))
}

func TestTLS(t *testing.T) {
	t.Parallel()
	s := gittest.New(t, gittest.Options{})
	head := commit(t, s, "repo", "main", map[string]string{"a": "1"})
	front := overTLS(t, s)
	bundle := bundleOf(front)

	tests := []struct {
		name        string
		credentials git.Credentials
		is          func(error) bool // nil: it works.
	}{
		{"bundle", git.Credentials{CABundle: bundle}, nil},
		{"insecure", git.Credentials{InsecureSkipTLSVerify: true}, nil},
		{"neither", git.Credentials{}, isType[*git.CertificateError]},
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

// recorder is a proxy of a git server that records the users that clients send.
type recorder struct {
	*httptest.Server

	mu   sync.Mutex
	sent map[string]string // Path of a repository → user that was sent, "-" for none.
}

// record serves s, except for repositories that have moved.
func record(t *testing.T, s *gittest.Server, moved func(path string) string) *recorder {
	t.Helper()
	behind, err := url.Parse(s.URL(""))
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(behind)
	r := &recorder{sent: map[string]string{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		path := strings.TrimSuffix(strings.TrimSuffix(request.URL.Path, "/info/refs"), "/git-upload-pack")
		user, _, _ := request.BasicAuth()
		r.mu.Lock()
		r.sent[path] = cmp.Or(user, "-")
		r.mu.Unlock()
		if to := moved(path); to != "" {
			http.Redirect(w, request, strings.Replace(request.URL.String(), path, to, 1), http.StatusMovedPermanently)
			return
		}
		// Every path leads to the same repository.
		request.URL.Path = strings.Replace(request.URL.Path, path, "/repo", 1)
		proxy.ServeHTTP(w, request)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *recorder) seen() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sent
}

// Credentials are sent only to URLs below their prefix, even if a server redirects.
func TestCredentialsStayBelowTheirPrefix(t *testing.T) {
	t.Parallel()
	s := gittest.New(t, gittest.Options{})
	head := commit(t, s, "repo", "main", map[string]string{"a": "1"})
	elsewhere := record(t, s, func(string) string { return "" })
	home := record(t, s, func(path string) string {
		switch path {
		case "/acme/renamed":
			return "/acme/new"
		case "/acme/sold":
			return "/acme-evil/x"
		case "/acme/gone":
			return elsewhere.URL + "/gone"
		case "/acme/climbing":
			return "/acme/%2e%2e/evil"
		case "/acme/slashed":
			return "/acme%2fx"
		case "/open/closed":
			return "/acme/closed"
		}
		return ""
	})
	client := newClient(t, map[string]git.Credentials{
		home.URL + "/acme":   {Username: "acme", Password: secret.Hide("secret")},
		home.URL + "/acme/a": {Username: "a", Password: secret.Hide("secret")},
	}, elsewhere.URL)
	for _, repo := range []string{"acme/b", "acme/a", "acme/ab", "acme-evil", "ac", "acme/renamed", "acme/sold", "acme/gone", "acme/slashed", "open/closed"} {
		if _, err := client.Fetch(t.Context(), home.URL+"/"+repo, head, git.Ref{}); err != nil {
			t.Errorf("Fetch of %s: %v", repo, err)
		}
	}
	// This request may reach any path, but only without credentials.
	_, _ = client.Fetch(t.Context(), home.URL+"/acme/climbing", head, git.Ref{})
	want := map[string]string{
		"/acme/b": "acme", "/acme/a": "a", "/acme/ab": "acme", "/acme-evil": "-", "/ac": "-",
		"/acme/renamed": "acme", "/acme/new": "acme", "/acme/sold": "acme", "/acme-evil/x": "-",
		"/acme/gone": "acme", "/acme/slashed": "acme", "/acme/x": "-", "/open/closed": "-", "/acme/closed": "-",
		"/acme/climbing": "acme",
	}
	got := home.seen()
	for path, user := range got {
		if strings.Contains(path, "evil") && user != "-" {
			t.Errorf("%s was sent the password of %s", path, user)
		}
	}
	delete(got, "/acme/../evil")
	delete(got, "/evil")
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := gocmp.Diff(map[string]string{"/gone": "-"}, elsewhere.seen()); diff != "" {
		t.Error(diff)
	}
}

func TestMoved(t *testing.T) {
	t.Parallel()
	guarded := gittest.New(t, gittest.Options{Username: "robot", Password: "open sesame"})
	commit(t, guarded, "repo", "main", map[string]string{"a": "1"})
	open := gittest.New(t, gittest.Options{})
	commit(t, open, "repo", "main", map[string]string{"a": "1"})
	moved := func(to string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", to+"?token=s3cret")
			w.WriteHeader(http.StatusFound)
		}
	}
	overPack := record(t, open, func(string) string { return "" })
	behind := overPack.Config.Handler
	overPack.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			http.Redirect(w, r, open.URL("repo")+"/git-upload-pack", http.StatusFound)
			return
		}
		behind.ServeHTTP(w, r)
	})
	tests := []struct {
		name string
		to   string
		tls  bool
		want string // The new address; "" is the address in to.
	}{
		{"where it asks for credentials", guarded.URL("repo") + "/info/refs", false, guarded.URL("repo")},
		{"where there is none", guarded.URL("nothing") + "/info/refs", false, guarded.URL("nothing")},
		{"to a page", open.URL("sign_in"), false, open.URL("sign_in")},
		{"from https to http", open.URL("repo") + "/info/refs", true, open.URL("repo")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			front := httptest.NewUnstartedServer(moved(tt.to))
			start := front.Start
			if tt.tls {
				start = front.StartTLS
			}
			start()
			t.Cleanup(front.Close)
			client := newClient(t, map[string]git.Credentials{
				front.URL: {Username: "robot", Password: secret.Hide("open sesame"), InsecureSkipTLSVerify: true},
			}, guarded.URL(""), open.URL(""))
			_, err := client.Resolve(t.Context(), front.URL+"/repo", git.Ref{})
			got, ok := errors.AsType[*git.MovedError](err)
			if !ok || got.To != tt.want {
				t.Fatalf("Resolve: %v, want a MovedError to %s", err, tt.want)
			}
			for _, text := range []string{"open sesame", "s3cret"} {
				if strings.Contains(err.Error(), text) {
					t.Errorf("the error shows a secret: %v", err)
				}
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the error does not name %s: %v", tt.want, err)
			}
		})
	}
	t.Run("after the first request", func(t *testing.T) {
		t.Parallel()
		client := newClient(t, nil)
		head, err := client.Resolve(t.Context(), overPack.URL+"/repo", git.Ref{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Fetch(t.Context(), overPack.URL+"/repo", head, git.Ref{}); !isType[*git.MovedError](err) {
			t.Errorf("Fetch: %v, want a MovedError", err)
		}
	})
}

func TestGitHubApp(t *testing.T) {
	t.Parallel()
	app, err := gittest.NewApp("4711", 99)
	if err != nil {
		t.Fatal(err)
	}
	other, err := gittest.NewApp("4711", 99)
	if err != nil {
		t.Fatal(err)
	}
	s := gittest.New(t, gittest.Options{GitHubApp: app})
	head := commit(t, s, "acme/fleet", "main", map[string]string{"a": "1"})
	tests := []struct {
		name    string
		app     git.App
		refused bool
	}{
		{"right, API of the host", git.App{ID: "4711", InstallationID: 99, PrivateKey: secret.Hide(app.PrivateKey())}, false},
		{"right, API given", git.App{ID: "4711", InstallationID: 99, PrivateKey: secret.Hide(app.PrivateKey()), APIURL: s.APIURL()}, false},
		{"another key", git.App{ID: "4711", InstallationID: 99, PrivateKey: secret.Hide(other.PrivateKey())}, true},
		{"another app", git.App{ID: "4712", InstallationID: 99, PrivateKey: secret.Hide(app.PrivateKey())}, true},
		{"another installation", git.App{ID: "4711", InstallationID: 98, PrivateKey: secret.Hide(app.PrivateKey())}, true},
		{"no id", git.App{InstallationID: 99, PrivateKey: secret.Hide(app.PrivateKey())}, true},
		{"no key in the PEM", git.App{ID: "4711", InstallationID: 99, PrivateKey: secret.Hide("hello")}, true},
		{"no API there", git.App{ID: "4711", InstallationID: 99, PrivateKey: secret.Hide(app.PrivateKey()), APIURL: s.URL("nowhere")}, true},
		{"API address without a host", git.App{ID: "4711", InstallationID: 99, PrivateKey: secret.Hide(app.PrivateKey()), APIURL: "api"}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			client := newClient(t, map[string]git.Credentials{s.URL("acme"): {GitHubApp: &tt.app}})
			_, err := client.Fetch(t.Context(), s.URL("acme/fleet"), head, git.Ref{})
			if !tt.refused && err != nil {
				t.Fatal(err)
			}
			if tt.refused && !isType[*git.AuthenticationError](err) {
				t.Errorf("Fetch: %v, want an AuthenticationError", err)
			}
		})
	}
}

// A token is used until shortly before it expires.
func TestGitHubAppTokens(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		life time.Duration
		want int // Tokens for five requests.
	}{
		{"an hour", time.Hour, 1},
		{"about to expire", time.Minute, 5},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			app, err := gittest.NewApp("Iv1.abc", 1)
			if err != nil {
				t.Fatal(err)
			}
			app.TokenLife = tt.life
			s := gittest.New(t, gittest.Options{GitHubApp: app})
			head := commit(t, s, "repo", "main", map[string]string{"a": "1"})
			client := newClient(t, map[string]git.Credentials{
				s.URL(""): {GitHubApp: &git.App{ID: app.ID, InstallationID: app.InstallationID, PrivateKey: secret.Hide(app.PrivateKey())}},
			})
			var group sync.WaitGroup
			for range 3 {
				group.Go(func() {
					if _, err := client.Resolve(t.Context(), s.URL("repo"), git.Ref{}); err != nil {
						t.Error(err)
					}
				})
			}
			group.Wait()
			if _, err := client.Fetch(t.Context(), s.URL("repo"), head, git.Ref{}); err != nil {
				t.Error(err)
			}
			if got := s.Tokens(); got != tt.want {
				t.Errorf("%d tokens were asked for, want %d", got, tt.want)
			}
		})
	}
}

// The environment of proxies is read once per process, and never for loopback
// addresses: another process reads https://example.com, which is a server here.
func TestProxy(t *testing.T) {
	t.Parallel()
	s := gittest.New(t, gittest.Options{})
	head := commit(t, s, "repo", "main", map[string]string{"a": "1"})
	front := overTLS(t, s)
	target, err := url.Parse(front.URL)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name    string
		host    string
		noProxy string
		want    []string // The hosts that the proxy is to connect to.
	}{
		{"through the proxy", "example.com", "other.invalid", []string{"example.com:443"}},
		{"past the proxy", "nowhere.invalid", "nowhere.invalid", nil}, // A host that does not exist.
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var asked []string
			proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				asked = append(asked, r.Host)
				mu.Unlock()
				tunnel(w, r, target.Host)
			}))
			t.Cleanup(proxy.Close)
			child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProxyChild$", "-test.v")
			child.Env = append(os.Environ(), "FLEET_TEST_COMMIT="+head, "FLEET_TEST_HOST="+tt.host, "FLEET_TEST_BUNDLE="+bundleOf(front), "HTTPS_PROXY="+proxy.URL, "NO_PROXY="+tt.noProxy)
			out, err := child.CombinedOutput()
			if (err == nil) != (len(tt.want) > 0) {
				t.Errorf("the other process: %v: %s", err, out)
			}
			mu.Lock()
			defer mu.Unlock()
			if diff := gocmp.Diff(tt.want, asked); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// tunnel connects a client of a proxy with a server.
func tunnel(w http.ResponseWriter, r *http.Request, to string) {
	var dialer net.Dialer
	server, err := dialer.DialContext(r.Context(), "tcp", to)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	w.WriteHeader(http.StatusOK)
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		_ = server.Close()
		return
	}
	go func() {
		_, _ = io.Copy(server, buffered)
		_ = server.Close()
	}()
	_, _ = io.Copy(client, server)
	_ = client.Close()
}

// TestProxyChild runs in a process of its own.
func TestProxyChild(t *testing.T) {
	head := os.Getenv("FLEET_TEST_COMMIT")
	if head == "" {
		t.Skip("TestProxy runs this")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	host := "https://" + os.Getenv("FLEET_TEST_HOST")
	client := newClient(t, map[string]git.Credentials{host: {CABundle: os.Getenv("FLEET_TEST_BUNDLE")}})
	if _, err := client.Fetch(ctx, host+"/repo", head, git.Ref{}); err != nil {
		t.Fatal(err)
	}
}
