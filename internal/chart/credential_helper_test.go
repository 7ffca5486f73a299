//go:build unix

package chart_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/chart"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/charttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/command"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
)

// A command prints the credentials of a registry, once for all fetches, and for the host of its
// entry. If it fails, the error contains the reason without a secret.
func TestCredentialHelper(t *testing.T) {
	t.Parallel()
	const prints = `printf '{"ServerURL":"x","Username":"%s","Secret":"%s"}' `
	basic := charttest.New(t, charttest.Options{Username: username, Password: password})
	bearer := charttest.New(t, charttest.Options{Username: username, Password: password, Bearer: true})
	for _, server := range []*charttest.Server{basic, bearer} {
		server.AddChart(web("1.0.0"))
		server.PushChart("acme/web", web("1.0.0"))
	}
	ofRepository := func(server *charttest.Server) (string, bundle.Chart) {
		return server.URL("/"), bundle.Chart{Repo: server.RepositoryURL(), Name: "web"}
	}
	ofRegistry := func(server *charttest.Server) (string, bundle.Chart) {
		return server.RegistryURL("acme"), bundle.Chart{Repo: server.RegistryURL("acme/web")}
	}
	tests := map[string]struct {
		server *charttest.Server
		of     func(*charttest.Server) (prefix string, chart bundle.Chart)
		script string // what the command does
		says   string // in the error, "" for none
	}{
		"a repository":                   {basic, ofRepository, prints + username + " '" + password + "'", ""},
		"a registry":                     {basic, ofRegistry, prints + username + " '" + password + "'", ""},
		"a registry with tokens":         {bearer, ofRegistry, prints + username + " '" + password + "'", ""},
		"an identity token":              {bearer, ofRegistry, prints + "'<token>' '" + password + "'", ""},
		"an identity token elsewhere":    {basic, ofRepository, prints + "'<token>' '" + password + "'", "it printed an identity token, which only OCI registries take"},
		"another password":               {basic, ofRepository, prints + username + " other", "the server refused the credentials"},
		"a command that fails":           {basic, ofRegistry, "echo 'no session for " + password + ": '$SESSION >&2; exit 3", "there are no credentials: getting credentials from the command"},
		"a command that prints no login": {basic, ofRepository, "echo nothing", "its output is not an object with Username and Secret"},
		"a command that prints why":      {basic, ofRepository, "echo credentials not found in native keychain for $SESSION; exit 1", "exit status 1; it reported: credentials not found in native keychain for (sensitive value)"},
		"a login of a failed command":    {basic, ofRepository, prints + username + " '" + password + "'; exit 1", "exit status 1"},
		"a command without end":          {basic, ofRepository, "yes", "it printed more than 1 MiB"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			script, calls := filepath.Join(dir, "docker-credential-test"), filepath.Join(dir, "calls")
			content := fmt.Sprintf("#!/bin/sh\nread host\necho \"$@ $host\" >> %s\n%s\n", calls, test.script)
			if err := os.WriteFile(script, []byte(content), 0o700); err != nil {
				t.Fatal(err)
			}
			prefix, wanted := test.of(test.server)
			var mu sync.Mutex
			var secrets []string
			fetcher := newFetcherWith(t, chart.FetchConfig{
				Registries: map[string]chart.Registry{prefix: {Helper: &chart.CredentialHelper{Command: script, Env: []string{"SESSION=" + password}}, PlainHTTP: true}},
				AddSecret: func(more ...string) {
					mu.Lock()
					defer mu.Unlock()
					secrets = append(secrets, more...)
				},
			})
			var err error
			for range 2 {
				if _, _, err = fetcher.Fetch(t.Context(), wanted, bundle.Pin{}); err != nil {
					break
				}
			}
			if test.says != "" {
				failed, ok := errors.AsType[*chart.FetchError](err)
				if !ok || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), password) {
					t.Fatalf("Fetch: %v, want a FetchError with %q", err, test.says)
				}
				if _, ofCommand := errors.AsType[*command.CredentialsError](err); ofCommand != (failed.Reason == chart.NoLogin) {
					t.Errorf("the reason is %q of %v", failed.Reason, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(calls)
			if err != nil {
				t.Fatal(err)
			}
			host := strings.SplitN(prefix, "/", 4)[2]
			if diff := cmp.Diff("get "+host+"\n", string(got)); diff != "" {
				t.Errorf("calls of the command (-want +got):\n%s", diff)
			}
			mu.Lock()
			defer mu.Unlock()
			if !slices.Contains(secrets, password) {
				t.Errorf("secrets: got %q, want the password among them", secrets)
			}
		})
	}
}

func TestCredentialHelperBesidePassword(t *testing.T) {
	t.Parallel()
	for _, registry := range []chart.Registry{{Token: secret.Hide("x")}, {Username: "x", Password: secret.Hide("x")}, {Username: "x"}} {
		registry.Helper = &chart.CredentialHelper{Command: "docker-credential-test"}
		_, err := chart.NewFetcher(chart.FetchConfig{Registries: map[string]chart.Registry{"oci://ghcr.io": registry}})
		if wrong, ok := errors.AsType[*chart.RegistryError](err); !ok || !strings.Contains(wrong.Error(), "or exec") {
			t.Errorf("%+v: error %v, want a RegistryError", registry, err)
		}
	}
}
