package run_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/run"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// The releases of a namespace whose records are too large to list are read one by one. A release that
// cannot be read stays as it was.
func TestNamespaceLeftOut(t *testing.T) {
	t.Parallel()
	web := deployment("c1", "web", "v1-a")
	prior := map[deploy.Key]deploy.Record{key("c1", "web"): recordOfWrite(web)}
	changed := web
	changed.Digest = "v1-b"
	apply := func(change func(*run.Request)) func(*testing.T, *run.Runner) []deploy.Failure {
		return func(t *testing.T, engine *run.Runner) []deploy.Failure {
			t.Helper()
			asked := request(prior)
			change(&asked)
			return engine.Apply(t.Context(), asked).Failures
		}
	}
	tests := map[string]struct {
		do   func(*testing.T, *run.Runner) []deploy.Failure
		did  string   // unless the release cannot be read
		want []string // the failures if the release cannot be read
	}{
		"a refresh": {want: []string{"c1/web looking up the release"}, do: func(t *testing.T, engine *run.Runner) []deploy.Failure {
			t.Helper()
			seen := engine.Observe(t.Context(), identity(), deploy.DriftRelease, prior)
			if diff := cmp.Diff(prior, seen.Records); diff != "" || len(seen.Missing) > 0 || seen.AllSeen {
				t.Errorf("lost: %v, all seen: %t, records (-want +got):\n%s", seen.Missing, seen.AllSeen, diff)
			}
			return seen.Failures
		}},
		"a survey": {want: []string{"c1/web looking up the release"}, do: func(t *testing.T, engine *run.Runner) []deploy.Failure {
			t.Helper()
			return engine.Status(t.Context(), owner, []target.Deployment{web}).Failures
		}},
		"an upgrade": {
			did: "upgrade ns/web", want: []string{"c1/web looking up the release"},
			do: apply(func(asked *run.Request) { asked.Write = []target.Deployment{changed} }),
		},
		"a removal": {
			did: "uninstall ns/web", want: []string{"c1/web removing"},
			do: apply(func(asked *run.Request) { asked.Remove = []deploy.Key{key("c1", "web")} }),
		},
	}
	for name, test := range tests {
		for _, fails := range []bool{false, true} {
			t.Run(map[bool]string{false: name, true: name + " that cannot read the release"}[fails], func(t *testing.T) {
				t.Parallel()
				clusters := newFleet("c1")
				clusters["c1"].put(deployed(web))
				clusters["c1"].leftOut = []string{"ns"}
				want := []string{}
				if fails {
					failAt(errors.New("too large"), "read ns/web")(clusters["c1"])
					want = test.want
				}
				if diff := cmp.Diff(want, failed(test.do(t, clusters.runner()))); diff != "" {
					t.Errorf("failures (-want +got):\n%s", diff)
				}
				if did := slices.Contains(clusters["c1"].did(), test.did); test.did != "" && did == fails {
					t.Errorf("%s: %t, want %t", test.did, did, !fails)
				}
			})
		}
	}
}

// Releases that are not known would be in no state after an import.
func TestImportNeedsAllReleases(t *testing.T) {
	t.Parallel()
	connect := func(string) (run.RecordLister, error) {
		return recordedReleases{release.Snapshot{UID: "1", LeftOut: []string{"ns"}}}, nil
	}
	imported := run.Import(t.Context(), "us", "prod", []string{"a"}, 1, connect)
	if len(imported.Failures) != 1 {
		t.Fatalf("failures: %v, want one", imported.Failures)
	}
	if err := imported.Failures[0].Err; !strings.Contains(err.Error(), "too large to list") {
		t.Errorf("failure: %v, want that a namespace is too large to list", err)
	}
}
