package git_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/git"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
)

// A commit is described if it was fetched, to callers with the same rights, and without a request.
func TestAbout(t *testing.T) {
	t.Parallel()
	s := gittest.New(t, gittest.Options{Username: "robot", Password: "open sesame"})
	made := func(message string) string {
		t.Helper()
		hash, err := s.Commit(t.Context(), "acme/fleet", "main", message, map[string]string{"a": message})
		if err != nil {
			t.Fatal(err)
		}
		return hash
	}
	named, long, other := made("\nRaise the replicas \n\nBecause of the sale.\n"), made(strings.Repeat("x", 5000)+"\n"), made("Other")
	client := newClient(t, map[string]git.Credentials{s.URL(""): {Username: "robot", Password: secret.Hide("open sesame")}}, s.URL(""))
	for _, hash := range []string{named, long} {
		if _, err := client.Fetch(t.Context(), s.URL("acme/fleet"), hash, git.Ref{}); err != nil {
			t.Fatal(err)
		}
	}
	before := s.Requests()
	for name, test := range map[string]struct {
		bundleOf     string
		repo, commit string
		want         git.About
		ok           bool
	}{
		"a commit":                       {repo: s.URL("acme/fleet"), commit: named, want: git.About{Author: "gittest", Subject: "Raise the replicas"}, ok: true},
		"a subject that is too long":     {repo: s.URL("acme/fleet"), commit: long, want: git.About{Author: "gittest"}, ok: true},
		"a commit that was not fetched":  {repo: s.URL("acme/fleet"), commit: other},
		"the same commit elsewhere":      {repo: s.URL("acme/copy"), commit: named},
		"no commit":                      {repo: s.URL("acme/fleet"), commit: "main"},
		"no repository":                  {repo: "::", commit: named},
		"a bundle of another repository": {bundleOf: s.URL("acme/tenant"), repo: s.URL("acme/fleet"), commit: named},
	} {
		ctx := t.Context()
		if test.bundleOf != "" {
			ctx = within(t, test.bundleOf)
		}
		about, ok := client.About(ctx, test.repo, test.commit)
		if diff := cmp.Diff(test.want, about); diff != "" || ok != test.ok {
			t.Errorf("%s: found %t (-want +got):\n%s", name, ok, diff)
		}
	}
	if requests := s.Requests() - before; requests != 0 {
		t.Errorf("%d requests", requests)
	}
}
