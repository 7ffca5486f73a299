package git_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fetch"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/git"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/policy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
)

// within returns a context for fetches that the content of a configured repository causes.
func within(t *testing.T, repository string, sources ...string) context.Context {
	t.Helper()
	reach := fetch.Reach{Repository: repository}
	if sources != nil {
		patterns, err := policy.NewSources(sources)
		if err != nil {
			t.Fatal(err)
		}
		reach.Sources = patterns
	}
	return fetch.WithReach(t.Context(), reach)
}

// isRefusal reports an error that tells which pattern is missing.
func isRefusal(err error) bool { return isType[*fetch.RefusedError](err) }

// The author of a repository names another repository, for which the provider has credentials.
func TestSubmodulesBorrowNoCredentials(t *testing.T) {
	t.Parallel()
	s := gittest.New(t, gittest.Options{Username: "robot", Password: "open sesame"})
	hidden := commit(t, s, "acme/secret", "main", map[string]string{"a": "secret"})
	commit(t, s, "acme/tenant", "main", map[string]string{"a": "1"})
	tenant, sshTenant := s.URL("acme/tenant"), s.SSHURL("acme/tenant")
	relative := addModule(t, s, "acme/tenant", "stolen", "../secret", hidden)
	for name, test := range map[string]struct {
		repository string
		sources    []string
		is         func(error) bool
	}{
		"by default":            {tenant, nil, isType[*git.AuthenticationError]},
		"over ssh":              {sshTenant, nil, isType[*git.AuthenticationError]},
		"no source":             {tenant, []string{}, isRefusal},
		"another source":        {tenant, []string{s.URL("acme/other")}, isRefusal},
		"the source":            {tenant, []string{s.URL("acme/secret")}, nil},
		"the source, over ssh":  {sshTenant, []string{strings.Replace(s.SSHURL("acme/"), "git@", "", 1) + "*"}, nil},
		"the repository itself": {s.URL("acme/secret"), nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := newClient(t, map[string]git.Credentials{
				s.URL(""):    {Username: "robot", Password: secret.Hide("open sesame")},
				s.SSHURL(""): {SSHPrivateKey: secret.Hide(s.SSHKey()), KnownHosts: s.KnownHosts()},
			}, s.URL(""), s.SSHURL(""))
			read := func(ctx context.Context) error {
				if test.repository == s.URL("acme/secret") {
					_, err := client.Fetch(ctx, test.repository, hidden, git.Ref{})
					return err
				}
				_, err := client.FetchWithSubmodules(ctx, test.repository, relative, git.Ref{})
				return err
			}
			for range 2 { // The second time, the commit of the operator is in memory.
				err := read(within(t, test.repository, test.sources...))
				if test.is == nil && err != nil || test.is != nil && !test.is(err) {
					t.Errorf("error %v", err)
				}
				for _, of := range []string{s.URL("acme/secret"), s.SSHURL("acme/secret")} {
					if _, err := client.Fetch(t.Context(), of, hidden, git.Ref{}); err != nil {
						t.Errorf("Fetch of the operator: %v", err)
					}
				}
			}
		})
	}
}

// A repository that an author names gets nothing by way of the cache that processes share.
func TestSharedPacksAreOfOneEntitlement(t *testing.T) {
	t.Parallel()
	s := gittest.New(t, gittest.Options{Username: "robot", Password: "open sesame"})
	hidden := commit(t, s, "acme/secret", "main", map[string]string{"a": "secret"})
	at, err := git.ScopeOf(s.URL(""))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, refused := range []bool{false, true} {
		ctx := t.Context()
		if refused {
			ctx = within(t, s.URL("acme/tenant"))
		}
		client := git.New(git.Config{CacheDir: dir, TempDir: t.TempDir(), Boundary: fetch.Boundary{Named: []fetch.Scope{at}}, Credentials: map[string]git.Credentials{
			s.URL(""): {Username: "robot", Password: secret.Hide("open sesame")},
		}})
		_, err := client.Fetch(ctx, s.URL("acme/secret"), hidden, git.Ref{})
		if isRefused := isType[*git.AuthenticationError](err); isRefused != refused || err != nil && !isRefused {
			t.Errorf("error %v, want a refusal: %t", err, refused)
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	}
}

// No author reaches a server of the runner, by a submodule or by a redirect, and no error tells whether
// there is one.
func TestAuthorsReachNoLocalServer(t *testing.T) {
	t.Parallel()
	local := gittest.New(t, gittest.Options{})
	there := commit(t, local, "there", "main", map[string]string{"a": "1"})
	t.Cleanup(func() {
		if local.Requests() != 0 {
			t.Errorf("%d requests reached the server", local.Requests())
		}
	})
	home := gittest.New(t, gittest.Options{})
	for name, to := range map[string]string{
		"a repository": local.URL("there"), "a closed port": "http://127.0.0.1:1/there", "a name": strings.Replace(local.URL("there"), "127.0.0.1", "localhost", 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			moved := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, to+"/info/refs?service=git-upload-pack", http.StatusFound)
			}))
			t.Cleanup(moved.Close)
			repository := strings.ReplaceAll(name, " ", "-")
			commit(t, home, repository, "main", map[string]string{"a": "1"})
			head := addModule(t, home, repository, "it", to, there)
			client := newClient(t, nil)
			_, bySubmodule := client.FetchWithSubmodules(t.Context(), home.URL(repository), head, git.Ref{})
			_, byRedirect := client.Resolve(t.Context(), moved.URL+"/x", git.Ref{})
			for _, err := range []error{bySubmodule, byRedirect} {
				if _, ok := errors.AsType[*fetch.ConnectError](err); !ok {
					t.Errorf("error %v, want a ConnectError", err)
				}
			}
		})
	}
}
