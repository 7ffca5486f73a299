package release_test

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// combination is one row of the table of all that Decide can meet.
type combination struct {
	status release.Status
	mark   string
	// current: the mark was written for the revision it stands on.
	current, sameDigest, takeOwnership bool
}

// marks are who can hold a release, seen from target t of owner o, instance i, in
// workspace w.
func marks() map[string]release.Mark {
	return map[string]release.Mark{
		"none": {},
		// Fleet's agent leaves chart annotations in the record, and no label on it.
		"Fleet's":                              {},
		"own":                                  {Owner: "o", Target: "t", Instance: "i", Workspace: "w"},
		"own, former name":                     {Owner: "o", Target: "former", Instance: "i", Workspace: "w"},
		"own, former owner":                    {Owner: "former", Target: "t", Instance: "i", Workspace: "w"},
		"own, from where the state was before": {Owner: "o", Target: "t", Instance: "i", Workspace: "former"},
		"same target, other instance":          {Owner: "o", Target: "t", Instance: "j", Workspace: "w"},
		"other target":                         {Owner: "o", Target: "u", Instance: "j", Workspace: "w"},
		"same target, other workspace":         {Owner: "o", Target: "t", Instance: "j", Workspace: "x"},
		"same target, unknown workspace":       {Owner: "o", Target: "t", Instance: "j"},
		"other target, other workspace":        {Owner: "o", Target: "u", Instance: "j", Workspace: "x"},
		"other owner":                          {Owner: "p", Target: "t", Instance: "j", Workspace: "w"},
	}
}

// The expectation is written down per question, not per row: who may touch it
// without being asked to take it, and what is to be done with what may be touched.
func TestDecide(t *testing.T) {
	t.Parallel()
	shared := map[string]bool{
		"own": true, "own, former name": true, "own, former owner": true, "own, from where the state was before": true,
		"same target, other instance": true, "other target": true,
	}
	namesake := map[string]bool{"same target, other workspace": true, "same target, unknown workspace": true}
	unfinished := map[release.Status]release.Action{
		release.StatusPendingInstall: release.Recover, release.StatusPendingUpgrade: release.Recover,
		release.StatusPendingRollback: release.Recover, release.StatusUninstalling: release.Recover, release.StatusUnknown: release.Recover,
		release.StatusFailed: release.Upgrade, release.StatusSuperseded: release.Upgrade,
	}
	wanted := release.Mark{Owner: "o", Target: "t", Instance: "i", Workspace: "w", Bundle: "b", Digest: "d"}
	rows := 0
	for row := range combinations(unfinished) {
		rows++
		t.Run(fmt.Sprintf("%+v", row), func(t *testing.T) {
			t.Parallel()
			mark := marks()[row.mark]
			if row.sameDigest {
				mark.Digest = wanted.Digest
			}
			observed := release.Observed{Release: "r", Namespace: "ns", Revision: 3, Status: row.status, Mark: mark}
			if row.current {
				observed.Mark.Revision = 3
			}
			got, err := release.Decide(wanted, &observed, row.takeOwnership)

			if row.status == release.StatusUninstalled {
				expectAction(t, got, err, release.Install)
				return
			}
			if !shared[row.mark] && !row.takeOwnership {
				foreign, refused := errors.AsType[*release.ForeignError](err)
				if !refused || foreign.Namesake != namesake[row.mark] {
					t.Errorf("got %v, %v, want it refused, as a namesake's: %t", got, err, namesake[row.mark])
				}
				return
			}
			if action, ok := unfinished[row.status]; ok {
				expectAction(t, got, err, action)
				return
			}
			switch {
			case !row.current || !row.sameDigest:
				expectAction(t, got, err, release.Upgrade)
			case mark.Instance == wanted.Instance:
				expectAction(t, got, err, release.Keep)
			default:
				expectAction(t, got, err, release.Adopt)
			}
		})
	}
	if want := 9 * len(marks()) * 8; rows != want {
		t.Errorf("%d combinations, want %d", rows, want)
	}
	got, err := release.Decide(wanted, nil, false)
	expectAction(t, got, err, release.Install)
}

// combinations are all rows.
func combinations(unfinished map[release.Status]release.Action) iter.Seq[combination] {
	statuses := append(slices.Collect(maps.Keys(unfinished)), release.StatusDeployed, release.StatusUninstalled)
	either := []bool{false, true}
	return func(yield func(combination) bool) {
		for _, status := range statuses {
			for mark := range marks() {
				for i := range 8 {
					if !yield(combination{status, mark, either[i&1], either[i>>1&1], either[i>>2&1]}) {
						return
					}
				}
			}
		}
	}
}

func expectAction(t *testing.T, got release.Action, err error, want release.Action) {
	t.Helper()
	if err != nil || got != want {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

// A holder that cannot be told from another is never taken for this target.
func TestStandingWithoutWorkspace(t *testing.T) {
	t.Parallel()
	nowhere := release.Mark{Owner: "o", Target: "t", Instance: "i"}
	other := release.Mark{Owner: "o", Target: "t", Instance: "j"}
	if got := nowhere.Standing(other); got != release.Namesake {
		t.Errorf("got %v, want a namesake", got)
	}
	if got := (release.Mark{Owner: "o", Target: "t"}).Standing(release.Mark{Owner: "o", Target: "t"}); got != release.Namesake {
		t.Errorf("two marks without an instance: got %v, want a namesake", got)
	}
}

func TestDecideRemoval(t *testing.T) {
	t.Parallel()
	own := release.Mark{Owner: "o", Target: "t", Instance: "i"}
	tests := map[string]struct {
		observed *release.Observed
		want     release.Action
	}{
		"own":                  {observed: &release.Observed{Mark: own}, want: release.Uninstall},
		"nothing there":        {observed: nil, want: release.Keep},
		"taken by an instance": {observed: &release.Observed{Mark: release.Mark{Owner: "o", Target: "t", Instance: "new"}}, want: release.Keep},
		"under a former name":  {observed: &release.Observed{Mark: release.Mark{Owner: "o", Target: "former", Instance: "i"}}, want: release.Uninstall},
		"of plain Helm":        {observed: &release.Observed{}, want: release.Keep},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := release.DecideRemoval(own, test.observed); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestObjectKey(t *testing.T) {
	t.Parallel()
	tests := map[string]release.Object{
		"apps/Deployment/web/nginx": {Group: "apps", Kind: "Deployment", Namespace: "web", Name: "nginx"},
		"Service/web/nginx":         {Kind: "Service", Namespace: "web", Name: "nginx"},
		"Namespace/web":             {Kind: "Namespace", Name: "web"},
	}
	for want, object := range tests {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			if got := object.Key(); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestHashesCountEqualKeysTogether(t *testing.T) {
	t.Parallel()
	twice := release.Rendering{Objects: []release.Object{{Kind: "ConfigMap", Name: "a", Hash: "1"}, {Kind: "ConfigMap", Name: "a", Hash: "2"}}}
	once := release.Rendering{Objects: twice.Objects[:1]}
	if twice.Hashes()["ConfigMap/a"] == once.Hashes()["ConfigMap/a"] {
		t.Error("a second object with the same key does not show in the hash")
	}
}
