package chart

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
)

func TestRegistryWithoutCredentials(t *testing.T) {
	t.Parallel()
	helper := &CredentialHelper{Command: "helper", Args: []string{"--profile=acme", "--session-token", "argument"}, Env: []string{"KEY=variable"}}
	registry := Registry{Username: "user", Password: secret.Hide("password"), Token: secret.Hide("token"), Helper: helper, CABundle: []byte("ca"), Insecure: true, PlainHTTP: true, Unknown: true}
	if diff := cmp.Diff(Registry{CABundle: []byte("ca"), Insecure: true, PlainHTTP: true, Unknown: true}, registry.WithoutCredentials()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"password", "token", "variable", "argument"}, registry.Secrets()); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
}

func TestServerOfAHelper(t *testing.T) {
	t.Parallel()
	for prefix, want := range map[string]string{
		"oci://ghcr.io/acme":                 "ghcr.io",
		"oci://docker.io/acme":               "https://index.docker.io/v1/",
		"oci://registry-1.docker.io/acme":    "https://index.docker.io/v1/",
		"https://[::1]:5000/charts":          "[::1]:5000",
		"https://charts.example.com:443/all": "charts.example.com:443",
	} {
		made, err := newAccount(prefix, Registry{}, 0, FetchConfig{})
		if err != nil {
			t.Fatal(err)
		}
		if got := made.server(); got != want {
			t.Errorf("%s: got %q, want %q", prefix, got, want)
		}
	}
}
