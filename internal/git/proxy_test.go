package git_test

import (
	"context"
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
)

// ssh goes through the proxy that ALL_PROXY names. Another process reads from git.example.com, which is a
// server here, because no proxy is asked for servers on this machine.
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
		user      string
		noProxy   string
		answer    func(http.ResponseWriter) // instead of a tunnel
		untrusted bool
		asked     []string // host, and the Proxy-Authorization that came with it
		says      string   // of the error, "" if there is none
	}{
		"HTTP":                   {asked: []string{"git.example.com:22 "}},
		"HTTP with a password":   {user: "user:word@", asked: []string{"git.example.com:22 Basic dXNlcjp3b3Jk"}},
		"HTTP over TLS":          {overTLS: true, asked: []string{"git.example.com:22 "}},
		"an unknown certificate": {overTLS: true, untrusted: true, says: "certificate"},
		"an excepted server":     {noProxy: "example.com", says: "reading from ssh://"},
		"a proxy that refuses": {
			user: "user:word@", answer: func(w http.ResponseWriter) { http.Error(w, "no", http.StatusForbidden) },
			asked: []string{"git.example.com:22 Basic dXNlcjp3b3Jk"}, says: "it responded with 403 Forbidden",
		},
		"a header without end": {
			answer: func(w http.ResponseWriter) {
				for range 3000 {
					w.Header().Add("X-Long", "0123456789")
				}
			},
			asked: []string{"git.example.com:22 "}, says: "through the proxy",
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
				if test.answer != nil {
					test.answer(w)
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
				"ALL_PROXY="+strings.Replace(proxy.URL, "://", "://"+test.user, 1), "NO_PROXY="+test.noProxy)
			output, err := child.CombinedOutput()
			if (err == nil) != (test.says == "") || !strings.Contains(string(output), test.says) || strings.Contains(string(output), "word") {
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

// TestSSHProxyChild runs in a process of its own.
func TestSSHProxyChild(t *testing.T) {
	t.Parallel()
	head := os.Getenv("FLEET_TEST_COMMIT")
	if head == "" || os.Getenv("FLEET_TEST_HOSTS") == "" {
		t.Skip("TestSSHProxy runs this")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	const repo = "ssh://git@git.example.com/repo"
	client := git.New(git.Config{
		TempDir: t.TempDir(), Trust: fetch.Trust{CABundle: os.Getenv("FLEET_TEST_BUNDLE")},
		Credentials: map[string]git.Credentials{repo: {SSHPrivateKey: os.Getenv("FLEET_TEST_KEY"), KnownHosts: os.Getenv("FLEET_TEST_HOSTS")}},
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
