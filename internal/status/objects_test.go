package status_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

func TestFactsOf(t *testing.T) {
	t.Parallel()
	modified := []release.Modification{
		{Object: "Deployment ns/web", Differences: []release.Difference{{Path: "spec.replicas"}, {Path: "spec.paused"}}},
		{Object: "Service ns/web", Differences: []release.Difference{{Path: "spec.type"}}},
	}
	unready := []release.Unready{{Object: "Deployment ns/db", Reason: "InProgress: 0 of 1"}}
	tests := map[string]struct {
		finding release.Finding
		state   status.State
		message string
		counts  status.Counts
		drifted bool
	}{
		"nothing to say": {finding: release.Finding{Ready: 3}, state: status.Ready, counts: status.Counts{Ready: 3}},
		"modified": {
			finding: release.Finding{Ready: 1, Modified: modified}, state: status.Modified,
			message: "Deployment ns/web differs at spec.replicas, spec.paused (and 1 more)",
			counts:  status.Counts{Ready: 1, Modified: 2}, drifted: true,
		},
		"missing comes first": {
			finding: release.Finding{Modified: modified[1:], Missing: []string{"ConfigMap ns/a"}}, state: status.Modified,
			message: "ConfigMap ns/a is missing (and 1 more)", counts: status.Counts{Modified: 1, Missing: 1}, drifted: true,
		},
		"held by another release": {
			finding: release.Finding{Ready: 1, NotOwned: []release.OwnedObject{{Object: "Namespace a", Owner: "ns/other"}}}, state: status.Modified,
			message: "Namespace a belongs to release ns/other", counts: status.Counts{Ready: 1, NotOwned: 1},
		},
		"not ready": {
			finding: release.Finding{Ready: 1, NotReady: unready}, state: status.NotReady,
			message: "not ready: Deployment ns/db is InProgress: 0 of 1", counts: status.Counts{Ready: 1, NotReady: 1},
		},
		"not ready, and modified": {
			finding: release.Finding{NotReady: unready, Modified: modified}, state: status.NotReady,
			message: "not ready: Deployment ns/db is InProgress: 0 of 1", counts: status.Counts{NotReady: 1, Modified: 2}, drifted: true,
		},
		"refused": {finding: release.Finding{Ready: 1, Refused: map[string]int{"Secret": 2}}, state: status.Ready, counts: status.Counts{Ready: 1, Unknown: 2}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state, message := status.FactsOf(test.finding).State()
			if state != test.state || message != test.message {
				t.Errorf("got %s %q, want %s %q", state, message, test.state, test.message)
			}
			counts := status.CountsOf(test.finding)
			if diff := cmp.Diff(test.counts, counts); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
			if counts.Drifted() != test.drifted {
				t.Errorf("drifted: %t, want %t", counts.Drifted(), test.drifted)
			}
		})
	}
}

func TestMessagesOfManyObjectsAreCut(t *testing.T) {
	t.Parallel()
	_, message := status.FactsOf(release.Finding{Missing: []string{"ConfigMap " + strings.Repeat("a", 200)}}).State()
	if len(message) > status.MaxMessage {
		t.Errorf("%d bytes", len(message))
	}
}

func TestCounts(t *testing.T) {
	t.Parallel()
	counts := status.Counts{Ready: 1, NotReady: 2, Modified: 3, Missing: 4, NotOwned: 5, Unknown: 6}
	if got := counts.Desired(); got != 16 {
		t.Errorf("%d objects are desired, want 16: what another holds counts there", got)
	}
	tests := map[string]struct{ got, want status.Counts }{
		"sum":              {counts.Plus(status.Counts{Ready: 1, Missing: 1}), status.Counts{Ready: 2, NotReady: 2, Modified: 3, Missing: 5, NotOwned: 5, Unknown: 6}},
		"unseen":           {counts.Unseen(), status.Counts{Unknown: 21}},
		"without reading":  {counts.WithoutReading(3), status.Counts{Ready: 18, NotReady: 3}},
		"more than all":    {status.Counts{Ready: 1}.WithoutReading(3), status.Counts{NotReady: 1}},
		"nothing to count": {status.Counts{}.Unseen(), status.Counts{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, test.got); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWorst(t *testing.T) {
	t.Parallel()
	order := []status.State{status.Ready, status.NotReady, status.Pending, status.OutOfSync, status.Modified, status.WaitApplied, status.ErrApplied}
	for i, state := range order {
		if state.Rank() != i+1 {
			t.Errorf("%s has rank %d, want %d", state, state.Rank(), i+1)
		}
		if got := status.Worst(append([]status.State{state}, order[:i]...)...); got != state {
			t.Errorf("the worst of %v is %s", order[:i+1], got)
		}
	}
	if status.Worst() != status.Ready || status.State("").Rank() != 0 {
		t.Error("none is Ready, and has no rank")
	}
}
