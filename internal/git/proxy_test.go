package git_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fetch"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/git"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
)

// SSH uses the proxy that ALL_PROXY names. Another process reads from git.example.com, which is a
// server here, because servers on this machine are not reached through a proxy.
func TestSSHProxy(t *testing.T) {
	t.Parallel()
	s := gittest.New(t, gittest.Options{})
	head := commit(t, s, "repo", "main", map[string]string{"a": "1"})
	address, err := url.Parse(s.SSHURL("repo"))
	if err != nil {
		t.Fatal(err)
	}
	_, key, _ := strings.Cut(s.KnownHosts(), " ")
	tests := map[string]struct {
		overTLS   bool
		proxy     string // the value of ALL_PROXY instead of the proxy's URL
		user      string
		noProxy   string
		respond   func(http.ResponseWriter) // instead of opening a tunnel
		untrusted bool
		asked     []string // host, and the Proxy-Authorization of its request
		says      string   // in the error, "" if there is none
	}{
		"HTTP":                                 {asked: []string{"git.example.com:22 "}},
		"HTTP with a password":                 {user: "user:hunter2@", asked: []string{"git.example.com:22 Basic dXNlcjpodW50ZXIy"}},
		"HTTP over TLS":                        {overTLS: true, asked: []string{"git.example.com:22 "}},
		"an unknown certificate":               {overTLS: true, untrusted: true, says: "set ca_bundle in the provider, under tls, to the certificate of the proxy's authority"},
		"an excepted server":                   {noProxy: "example.com", says: "reading from ssh://"},
		"another scheme":                       {proxy: "ftp://127.0.0.1:1", says: "ALL_PROXY is not the URL of a proxy"},
		"a password with a number sign":        {proxy: "http://user:hunter2#@127.0.0.1:1", says: "ALL_PROXY is not the URL of a proxy"},
		"a server that speaks with the header": {respond: func(w http.ResponseWriter) { earlyTunnel(t, w, address.Host) }, asked: []string{"git.example.com:22 "}},
		"a proxy that refuses": {
			user: "user:hunter2@", respond: func(w http.ResponseWriter) { hijack(w, "HTTP/1.1 403 hunter2 for user\r\nContent-Length: 500\r\n\nw") },
			asked: []string{"git.example.com:22 Basic dXNlcjpodW50ZXIy"}, says: "it responded with status 403 Forbidden",
		},
		"what is no HTTP": {
			user: "user:hunter2@", respond: func(w http.ResponseWriter) { hijack(w, "user:hunter2\r\n\r\n") },
			asked: []string{"git.example.com:22 Basic dXNlcjpodW50ZXIy"}, says: "it does not respond as an HTTP proxy does",
		},
		"a header without end": {
			respond: func(w http.ResponseWriter) {
				hijack(w, "HTTP/1.1 200 OK\r\n"+strings.Repeat("X-Long: 0123456789\r\n", 3000))
			},
			asked: []string{"git.example.com:22 "}, says: "it does not respond as an HTTP proxy does",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var asked []string
			proxy := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				asked = append(asked, r.Host+" "+r.Header.Get("Proxy-Authorization"))
				mu.Unlock()
				if test.respond != nil {
					test.respond(w)
					return
				}
				tunnel(w, r, address.Host)
			}))
			start := proxy.Start
			if test.overTLS {
				start = proxy.StartTLS
			}
			start()
			t.Cleanup(proxy.Close)
			trusted := ""
			if test.overTLS && !test.untrusted {
				trusted = bundleOf(proxy)
			}
			child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSSHProxyChild$", "-test.v")
			child.Env = append(os.Environ(), "FLEET_TEST_COMMIT="+head, "FLEET_TEST_BUNDLE="+trusted, "FLEET_TEST_KEY="+s.SSHKey(), "FLEET_TEST_HOSTS=git.example.com "+key,
				"ALL_PROXY="+cmp.Or(test.proxy, strings.Replace(proxy.URL, "://", "://"+test.user, 1)), "NO_PROXY="+test.noProxy)
			output, err := child.CombinedOutput()
			if (err == nil) != (test.says == "") || !strings.Contains(string(output), test.says) || strings.Contains(string(output), "hunter2") {
				t.Errorf("the other process: %v, want an error with %q: %s", err, test.says, output)
			}
			mu.Lock()
			defer mu.Unlock()
			if diff := gocmp.Diff(test.asked, asked); diff != "" {
				t.Errorf("what the proxy was asked (-want +got):\n%s", diff)
			}
		})
	}
}

// hijack sends text and leaves the connection open.
func hijack(w http.ResponseWriter, text string) {
	_, buffered, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_, _ = buffered.WriteString(text) // The client may have closed it.
		_ = buffered.Flush()
	}
}

// earlyTunnel sends the first bytes of the server with the header of the proxy.
func earlyTunnel(t *testing.T, w http.ResponseWriter, to string) {
	t.Helper()
	var dialer net.Dialer
	server, err := dialer.DialContext(t.Context(), "tcp", to)
	if err != nil {
		t.Error(err)
		return
	}
	banner := make([]byte, 4)
	if _, err := io.ReadFull(server, banner); err != nil {
		t.Error(err)
	}
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	fmt.Fprintf(buffered, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n%s", banner)
	_ = buffered.Flush() // The client may have closed it.
	go func() {
		_, _ = io.Copy(server, buffered)
		_ = server.Close()
	}()
	go func() {
		_, _ = io.Copy(client, server)
		_ = client.Close()
	}()
}

// TestSSHProxyChild runs in a process of its own.
func TestSSHProxyChild(t *testing.T) {
	t.Parallel()
	head := os.Getenv("FLEET_TEST_COMMIT")
	if head == "" || os.Getenv("FLEET_TEST_HOSTS") == "" {
		t.Skip("TestSSHProxy runs this")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	const repo = "ssh://git@git.example.com/repo"
	client := git.New(git.Config{
		TempDir: t.TempDir(), Trust: fetch.Trust{CABundle: os.Getenv("FLEET_TEST_BUNDLE")},
		Credentials: map[string]git.Credentials{repo: {SSHPrivateKey: secret.Hide(os.Getenv("FLEET_TEST_KEY")), KnownHosts: os.Getenv("FLEET_TEST_HOSTS")}},
	})
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := client.Fetch(ctx, repo, head, git.Ref{}); err != nil {
		t.Fatal(err)
	}
}
