package run_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// unlistedCase is a release that the list of a cluster lacks, and how the cluster responds to a
// read of its record.
type unlistedCase struct {
	gone       bool
	noRevision bool // The state is of an earlier version and has no revision.
	fails      error
	// counts reports that the release counts as removed.
	counts bool
}

func unlistedCases() map[string]unlistedCase {
	return map[string]unlistedCase{
		"its record is there":                                {},
		"its record is gone":                                 {gone: true, counts: true},
		"its record cannot be read":                          {gone: true, fails: errors.New("forbidden")},
		"the state names no revision":                        {noRevision: true, counts: true},
		"the state names no revision, and no record is read": {gone: true, noRevision: true, fails: errors.New("forbidden"), counts: true},
	}
}

// arrange returns a cluster whose lists are empty, and the state of its release.
func (u unlistedCase) arrange(web target.Deployment) (fleet, map[deploy.Key]deploy.Record) {
	clusters := newFleet("c1")
	if !u.gone {
		clusters["c1"].put(deployed(web))
		clusters["c1"].unlisted = map[string]bool{"ns/web": true}
	}
	if u.fails != nil {
		failAt(u.fails, "read ns/web v1")(clusters["c1"])
	}
	record := recordOfWrite(web)
	if u.noRevision {
		record.Known.Revision = 0
	}
	return clusters, map[deploy.Key]deploy.Record{key("c1", "web"): record}
}

// A release in state that an empty list lacks does not count as removed while its record can be
// read by name.
func TestObserveGetsWhatAListLacks(t *testing.T) {
	t.Parallel()
	web := deployment("c1", "web", "v1-a")
	for name, test := range unlistedCases() {
		for _, drift := range []deploy.Drift{deploy.DriftLive, deploy.DriftRelease, deploy.DriftNone} {
			t.Run(name+", drift "+string(drift), func(t *testing.T) {
				t.Parallel()
				clusters, prior := test.arrange(web)
				got := clusters.runner().Observe(t.Context(), identity(), drift, prior)

				want, lost, fails := prior, map[deploy.Key]release.Known{}, []string{"c1/web looking up the release"}
				if test.counts {
					want, lost, fails = nil, map[deploy.Key]release.Known{key("c1", "web"): prior[key("c1", "web")].Known}, nil
				}
				if diff := cmp.Diff(want, got.Records, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("records (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(lost, got.Missing); diff != "" {
					t.Errorf("lost (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(fails, failed(got.Failures), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("failures (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// If an empty list hides a release, a removal keeps it in state, and a write does not install it
// again.
func TestApplyGetsWhatAListLacks(t *testing.T) {
	t.Parallel()
	web := deployment("c1", "web", "v1-a")
	for name, test := range unlistedCases() {
		t.Run("removing: "+name, func(t *testing.T) {
			t.Parallel()
			clusters, prior := test.arrange(web)
			asked := request(prior)
			asked.Remove = []deploy.Key{key("c1", "web")}
			outcome := clusters.runner().Apply(t.Context(), asked)

			if _, known := outcome.Records[key("c1", "web")]; known == test.counts {
				t.Errorf("the state knows the release: %t, and it counts as gone: %t", known, test.counts)
			}
			if failed := len(outcome.Failures) > 0; failed == test.counts {
				t.Errorf("failures = %v", outcome.Failures)
			}
			if did := clusters["c1"].did(); len(did) > 0 {
				t.Errorf("did %q", did)
			}
		})
		t.Run("writing: "+name, func(t *testing.T) {
			t.Parallel()
			clusters, prior := test.arrange(web)
			asked := request(prior)
			asked.Write = []target.Deployment{deployment("c1", "web", "v1-b")}
			outcome := clusters.runner().Apply(t.Context(), asked)

			want := []string{"install ns/web"}
			if !test.counts {
				want = nil
				if diff := cmp.Diff(prior, outcome.Records); diff != "" {
					t.Errorf("records (-want +got):\n%s", diff)
				}
			}
			if diff := cmp.Diff(want, clusters["c1"].did(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("operations (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("the cause is typed", func(t *testing.T) {
		t.Parallel()
		clusters, prior := unlistedCase{}.arrange(web)
		asked := request(prior)
		asked.Remove = []deploy.Key{key("c1", "web")}
		outcome := clusters.runner().Apply(t.Context(), asked)
		if len(outcome.Failures) != 1 {
			t.Fatalf("failures = %v", outcome.Failures)
		}
		found, ok := errors.AsType[*release.UnlistedError](outcome.Failures[0].Err)
		if want := (&release.UnlistedError{Release: "web", Namespace: "ns", Revision: 1}); !ok || *found != *want {
			t.Errorf("error = %#v, want %#v", outcome.Failures[0].Err, want)
		}
	})
}
