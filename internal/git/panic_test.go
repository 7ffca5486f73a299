package git

import (
	"errors"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
)

// A panic while a commit is fetched becomes the error of Fetch.
func TestFetchThatPanics(t *testing.T) {
	t.Parallel()
	server := gittest.New(t, gittest.Options{})
	commit, err := server.Commit(t.Context(), "repo", "main", "First", map[string]string{"a.yaml": "a: b\n"})
	if err != nil {
		t.Fatal(err)
	}
	client := New(Config{TempDir: t.TempDir()})
	client.trees = nil // Writing to it panics.
	t.Cleanup(func() { _ = client.Close() })
	_, err = client.Fetch(t.Context(), server.URL("repo"), commit, Ref{Branch: "main"})
	if panicked := new(panics.Error); !errors.As(err, &panicked) {
		t.Errorf("error = %v, want a panic", err)
	}
}
