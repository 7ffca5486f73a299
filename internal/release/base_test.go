package release_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

func TestBase(t *testing.T) {
	t.Parallel()
	const (
		deployed, failed, superseded, uninstalled = release.StatusDeployed, release.StatusFailed, release.StatusSuperseded, release.StatusUninstalled
		interrupted                               = release.StatusPendingUpgrade
	)
	type revision struct {
		status  release.Status
		content string
	}
	tests := map[string]struct {
		// history are the revisions 1, 2, …
		history []revision
		base    []int
		failed  int
		// distinct are the revisions of base that are kept.
		distinct []int
	}{
		"no revision":                  {},
		"deployed":                     {history: []revision{{superseded, "a"}, {deployed, "b"}}, base: []int{2}, distinct: []int{2}},
		"one has failed":               {history: []revision{{superseded, "a"}, {deployed, "b"}, {failed, "c"}}, base: []int{3, 2}, distinct: []int{3, 2}, failed: 1},
		"several have failed":          {history: []revision{{deployed, "a"}, {failed, "b"}, {failed, "c"}, {interrupted, "b"}}, base: []int{4, 3, 2, 1}, distinct: []int{4, 3, 1}, failed: 2},
		"the same as deployed":         {history: []revision{{deployed, "a"}, {failed, "a"}}, base: []int{2, 1}, distinct: []int{2}, failed: 1},
		"without codes":                {history: []revision{{deployed, ""}, {failed, ""}, {failed, ""}}, base: []int{3, 2, 1}, distinct: []int{3, 2, 1}, failed: 2},
		"nothing was deployed":         {history: []revision{{failed, "a"}, {failed, "b"}}, base: []int{2, 1}, distinct: []int{2, 1}, failed: 2},
		"interrupted at its end":       {history: []revision{{superseded, "a"}, {interrupted, "b"}}, base: []int{2}, distinct: []int{2}, failed: 1},
		"failed before a deployed":     {history: []revision{{failed, "a"}, {deployed, "b"}}, base: []int{2}, distinct: []int{2}},
		"failed before an uninstall":   {history: []revision{{failed, "a"}, {uninstalled, "b"}, {failed, "c"}}, base: []int{3}, distinct: []int{3}, failed: 1},
		"uninstalled":                  {history: []revision{{failed, "a"}, {uninstalled, "b"}}, base: []int{2}, distinct: []int{2}},
		"the newest record is missing": {history: []revision{{superseded, "a"}, {superseded, "b"}}, base: []int{2}, distinct: []int{2}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var history []release.Observed
			for i, of := range test.history {
				history = append(history, release.Observed{Revision: i + 1, Status: of.status, Content: of.content})
			}
			base := release.Base(history)
			if diff := cmp.Diff(test.base, numbers(base)); diff != "" {
				t.Errorf("Base() (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.distinct, numbers(release.Distinct(base))); diff != "" {
				t.Errorf("Distinct() (-want +got):\n%s", diff)
			}
			newest := release.Newest(history)
			if newest.Revision != len(history) || newest.Failed != test.failed {
				t.Errorf("Newest() = revision %d with %d failed, want %d with %d", newest.Revision, newest.Failed, len(history), test.failed)
			}
		})
	}
}

func numbers(revisions []release.Observed) []int {
	var found []int
	for _, revision := range revisions {
		found = append(found, revision.Revision)
	}
	return found
}

// After too many failures no further revision is made.
func TestDecideAfterFailures(t *testing.T) {
	t.Parallel()
	for failed, isRefused := range map[int]bool{release.MaxFailed: false, release.MaxFailed + 1: true} {
		by := release.Claimant{Proof: release.Proof{Key: "key"}, Mark: release.NewMark("owner", "target", "instance", "web", "v1-a")}
		observed := release.Observed{Release: "web", Namespace: "web", Revision: 30, Status: release.StatusFailed, Failed: failed, Mark: by.Mark}
		observed.Mark.Revision = 30
		observed.MAC = by.Proof.OfLabels(observed)
		action, err := release.Decide(release.Facts{}, by, &observed, false)
		if _, is := errors.AsType[*release.TooManyFailedError](err); is != isRefused || !isRefused && action != release.Upgrade {
			t.Errorf("after %d failures: %s, %v", failed, action, err)
		}
	}
}
