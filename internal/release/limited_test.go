package release_test

import (
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// What is not listed is not known, and not missing.
func TestNamespacesOfASnapshot(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		snapshot  release.Snapshot
		leavesOut bool // the namespace ns
		complete  string
	}{
		"all namespaces":             {},
		"the namespace":              {snapshot: release.Snapshot{Namespaces: []string{"ns", "other"}}, complete: "limited"},
		"another namespace":          {snapshot: release.Snapshot{Namespaces: []string{"other"}}, leavesOut: true, complete: "limited"},
		"a large namespace":          {snapshot: release.Snapshot{LeftOut: []string{"ns"}}, leavesOut: true, complete: "incomplete"},
		"a large one, among a few":   {snapshot: release.Snapshot{Namespaces: []string{"ns"}, LeftOut: []string{"ns"}}, leavesOut: true, complete: "incomplete"},
		"another large one, of many": {snapshot: release.Snapshot{LeftOut: []string{"other"}}, complete: "incomplete"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.snapshot.LeavesOut("ns"); got != test.leavesOut {
				t.Errorf("leaves out: %t", got)
			}
			err, got := test.snapshot.CheckComplete(), ""
			if err != nil && strings.Contains(err.Error(), "limits which releases are known") {
				got = "limited"
			}
			if err != nil && strings.Contains(err.Error(), "too large to list") {
				got = "incomplete"
			}
			if got != test.complete {
				t.Errorf("complete: %v, want %q", err, test.complete)
			}
			if err := test.snapshot.CheckListed(); (err != nil) != (test.complete == "incomplete") {
				t.Errorf("listed: %v", err)
			}
		})
	}
}
