package run_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/run"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/rollout"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// A write gets the objects that it takes from other releases, and those that it leaves. Objects
// that could not be taken over are recorded, and their bundle is not removed.
func TestApplyMovesObjects(t *testing.T) {
	t.Parallel()
	const moving = "ConfigMap/ns/moving"
	losing, gaining := deployment("c1", "losing", "v1-b"), deployment("c1", "gaining", "v1-b")
	old := deployment("c1", "losing", "v1-a")
	had := recordOfWrite(old)
	had.Objects[moving] = "hash"
	kept := recordOfWrite(losing)
	kept.HandedOver = map[string]string{moving: "gaining"}
	wants := map[deploy.Key]map[string]string{key("c1", "losing"): rendered(losing).Hashes(), key("c1", "gaining"): rendered(gaining).Hashes()}
	wants[key("c1", "gaining")][moving] = "hash"
	fail := failAt(errors.New("quota exceeded"), "install ns/gaining")
	tests := map[string]struct {
		prior   deploy.Record
		change  func(*run.Request)
		arrange func(*memoryCluster)
		taken   map[string][]string
		spare   map[string]string
		yielded map[string]string
		fails   []string
		gone    bool // the losing deployment
	}{
		"both are written": {
			prior: had, change: func(r *run.Request) { r.Write = []target.Deployment{losing, gaining} },
			taken: map[string][]string{moving: {"ns/losing"}}, spare: map[string]string{moving: "gaining"},
		},
		"both are written, and the gain fails": {
			prior: had, change: func(r *run.Request) { r.Write = []target.Deployment{losing, gaining} }, arrange: fail,
			spare: map[string]string{moving: "gaining"}, yielded: map[string]string{moving: "gaining"}, fails: []string{"c1/gaining installing"},
		},
		"the losing one goes": {
			prior: had, change: func(r *run.Request) {
				r.Write, r.Remove = []target.Deployment{gaining}, []deploy.Key{key("c1", "losing")}
			},
			taken: map[string][]string{moving: {"ns/losing"}}, gone: true,
		},
		"the losing one goes, and the gain fails": {
			prior: had, change: func(r *run.Request) {
				r.Write, r.Remove = []target.Deployment{gaining}, []deploy.Key{key("c1", "losing")}
			},
			arrange: fail, fails: []string{"c1/gaining installing", "c1/losing removing"},
		},
		"left by an earlier apply": {
			prior: kept, change: func(r *run.Request) {
				r.Write, r.Keep = []target.Deployment{gaining}, []deploy.Key{key("c1", "losing")}
			},
			taken: map[string][]string{moving: {"ns/losing"}}, gone: true, // The removal does not report kept objects.
		},
		"on another cluster": {
			prior: had, change: func(r *run.Request) {
				elsewhere := gaining
				elsewhere.Cluster = "c2"
				r.Write, r.Wants = []target.Deployment{losing, elsewhere}, map[deploy.Key]map[string]string{
					key("c1", "losing"): wants[key("c1", "losing")], key("c2", "gaining"): wants[key("c1", "gaining")],
				}
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clusters := newFleet("c1", "c2")
			clusters["c1"].put(deployed(old))
			if test.arrange != nil {
				test.arrange(clusters["c1"])
			}
			asked := request(map[deploy.Key]deploy.Record{key("c1", "losing"): test.prior})
			asked.Wants = wants
			test.change(&asked)
			outcome := clusters.runner().Apply(t.Context(), asked)

			if diff := cmp.Diff(test.fails, failed(outcome.Failures), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("failures (-want +got):\n%s\n%v", diff, outcome.Failures)
			}
			if diff := cmp.Diff(test.taken, clusters["c1"].writes["ns/gaining"].Taken, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("taken over (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.spare, clusters["c1"].writes["ns/losing"].KeepObjects, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("left (-want +got):\n%s", diff)
			}
			record, known := outcome.Records[key("c1", "losing")]
			if known == test.gone {
				t.Errorf("the losing deployment is in the outcome: %t", known)
			}
			if diff := cmp.Diff(test.yielded, record.HandedOver, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("waits to be taken over (-want +got):\n%s", diff)
			}
			for _, failure := range outcome.Failures {
				_, held := errors.AsType[*rollout.HeldError](failure.Err)
				if held != (failure.Bundle == "losing") {
					t.Errorf("%s: error = %v", failure.Bundle, failure.Err)
				}
			}
		})
	}
}
