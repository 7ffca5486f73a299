package chart

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRegistryWithoutCredentials(t *testing.T) {
	t.Parallel()
	helper := &Helper{Command: "helper", Args: []string{"--profile=acme", "--session-token", "argument"}, Env: []string{"KEY=variable"}}
	registry := Registry{Username: "user", Password: "password", Token: "token", Helper: helper, CABundle: []byte("ca"), Insecure: true, PlainHTTP: true, Unknown: true}
	if diff := cmp.Diff(Registry{CABundle: []byte("ca"), Insecure: true, PlainHTTP: true, Unknown: true}, registry.WithoutCredentials()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"password", "token", "variable", "argument"}, registry.Secrets()); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
}
