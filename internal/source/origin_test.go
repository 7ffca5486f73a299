package source_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/source"
)

// Bundles from git have an origin. A process that has fetched the commit knows its author.
func TestOrigins(t *testing.T) {
	t.Parallel()
	server, dir := gittest.New(t, gittest.Options{}), t.TempDir()
	first := commit(t, server, apps(1))
	writeFiles(t, dir, apps(1))
	fetching := planner(t)
	plan := func(r source.Request) map[string]source.Element {
		t.Helper()
		planned, err := fetching.Plan(t.Context(), r, "")
		if err != nil || len(planned.Elements) != 2 {
			t.Fatalf("%+v (%v)", planned, err)
		}
		return planned.Elements
	}
	fromGit := plan(source.Request{Spec: source.Spec{Read: readApps()}, Git: source.GitSource{Repo: server.URL("fleet")}, Kept: true})
	elements := map[string]source.Element{"unknown": {Digest: "v1-x"}}
	for name, element := range plan(source.Request{Spec: source.Spec{Directory: dir, Read: readApps()}}) {
		elements["local-"+name] = element
	}
	maps.Copy(elements, fromGit)
	for name, test := range map[string]struct {
		store *source.Store
		about source.About
	}{
		"the process that fetched": {fetching, source.About{Author: "gittest", Subject: "change"}},
		"another process":          {store: planner(t)},
	} {
		before := server.Requests()
		want := map[string]source.Origin{}
		for bundle := range fromGit {
			want[bundle] = source.Origin{Repository: server.URL("fleet"), Commit: first, About: test.about}
		}
		if diff := cmp.Diff(want, test.store.Origins(t.Context(), elements)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if requests := server.Requests() - before; requests != 0 {
			t.Errorf("%s: %d requests", name, requests)
		}
	}
}
