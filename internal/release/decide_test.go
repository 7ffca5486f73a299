package release_test

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// combination is one row of the table of all cases of Decide.
type combination struct {
	status release.Status
	mark   string
	// current: the mark was written for the revision that has it.
	current, sameDigest, takeOwnership bool
}

// marks are all kinds of owners of a release, in relation to target t of owner o, instance i, with
// the adoption key k.
func marks() map[string]release.Mark {
	return map[string]release.Mark{
		"none": {},
		// Fleet's agent writes chart annotations into the record, and no label on it.
		"Fleet's":                        {},
		"own":                            {Owner: "o", Target: "t", Instance: "i", AdoptionKey: "k"},
		"own, before it had a key":       {Owner: "o", Target: "t", Instance: "i"},
		"own, former name":               {Owner: "o", Target: "former", Instance: "i"},
		"own, former owner":              {Owner: "former", Target: "t", Instance: "i"},
		"own, as it was imported":        {Owner: "o", Target: "t", Instance: "imported"},
		"same target, other instance":    {Owner: "o", Target: "t", Instance: "j"},
		"same target, other key":         {Owner: "o", Target: "t", Instance: "j", AdoptionKey: "l"},
		"same target, same key":          {Owner: "o", Target: "t", Instance: "j", AdoptionKey: "k"},
		"other target":                   {Owner: "o", Target: "u", Instance: "j"},
		"other target, same key":         {Owner: "o", Target: "u", Instance: "j", AdoptionKey: "k"},
		"other owner":                    {Owner: "p", Target: "t", Instance: "j"},
		"other owner with the same key":  {Owner: "p", Target: "t", Instance: "j", AdoptionKey: "k"},
		"other owner, without any names": {Owner: "p"},
	}
}

// ownerships are the ownerships of the marks if they were written for the newest revision.
func ownerships() map[string]release.Ownership {
	return map[string]release.Ownership{
		"none": release.Unmarked, "Fleet's": release.Unmarked,
		"own": release.Self, "own, before it had a key": release.Self, "own, former name": release.Self,
		"own, former owner": release.Self, "own, as it was imported": release.Self,
		"same target, other instance": release.SameName, "same target, other key": release.SameName,
		"same target, same key": release.SameKey, "other target, same key": release.SameKey,
		"other target": release.OtherTarget,
		"other owner":  release.OtherOwner, "other owner with the same key": release.OtherOwner, "other owner, without any names": release.OtherOwner,
	}
}

func wantedMark() release.Mark {
	return release.Mark{Owner: "o", Target: "t", Instance: "i", KnownAs: "imported", AdoptionKey: "k", Bundle: "b", Digest: "d"}
}

func TestOwnership(t *testing.T) {
	t.Parallel()
	for name, mark := range marks() {
		for _, current := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, current: %t", name, current), func(t *testing.T) {
				t.Parallel()
				observed := release.Observed{Revision: 3, Mark: mark}
				want := ownerships()[name]
				if current {
					observed.Mark.Revision = 3
				} else if mark.Owner != "" {
					want = release.OtherTool
				}
				if got := wantedMark().Ownership(observed); got != want {
					t.Errorf("got %v, want %v", got, want)
				}
			})
		}
	}
}

// For an owner, a release of any of its targets is Self. It still counts which tool made the newest
// revision.
func TestOwnershipBy(t *testing.T) {
	t.Parallel()
	for name, mark := range marks() {
		for _, current := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, current: %t", name, current), func(t *testing.T) {
				t.Parallel()
				observed := release.Observed{Revision: 3, Mark: mark}
				want := release.Self
				switch {
				case mark.Owner == "":
					want = release.Unmarked
				case !current:
					want = release.OtherTool
				case mark.Owner != "o":
					want = release.OtherOwner
				}
				if current {
					observed.Mark.Revision = 3
				}
				if got := observed.OwnershipBy("o"); got != want {
					t.Errorf("got %v, want %v", got, want)
				}
				if got, want := observed.IsMarkedBy("o"), mark.Owner == "o"; got != want {
					t.Errorf("marked by the owner: %t, want %t", got, want)
				}
			})
		}
	}
}

// Two marks do not match because both lack an id or a key.
func TestOwnershipOfEmptyMarks(t *testing.T) {
	t.Parallel()
	nobody := release.Mark{Owner: "o", Target: "t"}
	if got := nobody.Ownership(release.Observed{Mark: nobody}); got != release.SameName {
		t.Errorf("got %v, want the same name", got)
	}
}

// The expectation is written once per question, not per row: which releases may be changed without
// take_ownership, and which action they need.
func TestDecide(t *testing.T) {
	t.Parallel()
	unfinished := map[release.Status]release.Action{
		release.StatusPendingInstall: release.Recover, release.StatusPendingUpgrade: release.Recover,
		release.StatusPendingRollback: release.Recover, release.StatusUninstalling: release.Recover, release.StatusUnknown: release.Recover,
		release.StatusFailed: release.Upgrade, release.StatusSuperseded: release.Upgrade,
	}
	wanted := wantedMark()
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
			ownership := release.OtherTool
			if row.current || mark.Owner == "" {
				ownership = ownerships()[row.mark]
			}
			if row.current {
				observed.Mark.Revision = 3
			}
			got, err := release.Decide(release.Facts{}, wanted, &observed, row.takeOwnership)

			if row.status == release.StatusUninstalled {
				expectAction(t, got, err, release.Install)
				return
			}
			if ownership != release.Self && ownership != release.SameKey && !row.takeOwnership {
				foreign, refused := errors.AsType[*release.ForeignError](err)
				if !refused || foreign.Ownership != ownership {
					t.Errorf("got %v, %v, want it refused as %v", got, err, ownership)
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
	got, err := release.Decide(release.Facts{}, wanted, nil, false)
	expectAction(t, got, err, release.Install)
}

// combinations returns all rows.
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

// Each row has the facts about a deployment whose release is on the cluster as it was written, and
// the expected result: whether the plan shows a write, and what the write does.
func TestFacts(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change   func(*release.Facts)
		observed func(*release.Observed)
		needs    bool
		action   release.Action
	}{
		"as wanted":                   {},
		"not in state":                {change: func(f *release.Facts) { *f = release.Facts{} }, needs: true},
		"another digest":              {change: func(f *release.Facts) { f.SameDigest = false }, observed: func(o *release.Observed) { o.Mark.Digest = "former" }, needs: true, action: release.Upgrade},
		"another digest, killed":      {change: func(f *release.Facts) { f.SameDigest = false }, needs: true},
		"another write-only version":  {change: func(f *release.Facts) { f.SameDigest = false }, observed: func(o *release.Observed) { o.Mark.Digest = "former" }, needs: true, action: release.Upgrade},
		"another release":             {change: func(f *release.Facts) { f.SameRelease = false }, needs: true},
		"failed before":               {change: func(f *release.Facts) { f.Completed = false }, observed: func(o *release.Observed) { o.Status = release.StatusFailed }, needs: true, action: release.Upgrade},
		"failed before, succeeded":    {change: func(f *release.Facts) { f.Completed = false }, needs: true},
		"cut short before":            {change: func(f *release.Facts) { f.Completed = false }, observed: func(o *release.Observed) { o.Status = release.StatusPendingUpgrade }, needs: true, action: release.Recover},
		"drift":                       {change: func(f *release.Facts) { f.Drifted = true }, needs: true, action: release.Upgrade},
		"drift, to be adopted":        {change: func(f *release.Facts) { f.Drifted = true }, observed: func(o *release.Observed) { o.Mark.Instance = "imported" }, needs: true, action: release.Upgrade},
		"drift, cut short":            {change: func(f *release.Facts) { f.Drifted = true }, observed: func(o *release.Observed) { o.Status = release.StatusPendingUpgrade }, needs: true, action: release.Recover},
		"another record":              {change: func(f *release.Facts) { f.SameDigest, f.OtherRecord = false, true }, needs: true, action: release.Upgrade},
		"another record, not known":   {change: func(f *release.Facts) { *f = release.Facts{OtherRecord: true} }, needs: true},
		"adopted":                     {change: func(f *release.Facts) { *f = release.Facts{} }, observed: func(o *release.Observed) { o.Mark.Instance = "j" }, needs: true, action: release.Adopt},
		"imported":                    {change: func(f *release.Facts) { f.Forced = true }, observed: func(o *release.Observed) { o.Mark.Instance = "imported" }, needs: true, action: release.Adopt},
		"all to be looked at":         {change: func(f *release.Facts) { f.Forced = true }, needs: true},
		"values that nobody has read": {change: func(f *release.Facts) { f.Unpinned = true }, needs: true},
		"a move that failed":          {change: func(f *release.Facts) { f.Leftovers = true }, needs: true},
		"gone":                        {change: func(f *release.Facts) { *f = release.Facts{} }, observed: func(o *release.Observed) { o.Status = release.StatusUninstalled }, needs: true, action: release.Install},
		"drift, gone":                 {change: func(f *release.Facts) { f.Drifted = true }, observed: func(o *release.Observed) { o.Status = release.StatusUninstalled }, needs: true, action: release.Install},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			facts := release.Facts{Known: true, SameDigest: true, SameRelease: true, Completed: true}
			if test.change != nil {
				test.change(&facts)
			}
			if got := facts.NeedsWrite(); got != test.needs {
				t.Errorf("needs a write: %t, want %t", got, test.needs)
			}
			wanted := wantedMark()
			observed := release.Observed{Release: "r", Namespace: "ns", Revision: 3, Status: release.StatusDeployed, Mark: wanted}
			observed.Mark.Revision = 3
			if test.observed != nil {
				test.observed(&observed)
			}
			got, err := release.Decide(facts, wanted, &observed, false)
			expectAction(t, got, err, test.action)
		})
	}
}

func TestActionWrites(t *testing.T) {
	t.Parallel()
	tests := map[release.Action]struct {
		writes    bool
		rewriting release.Action
	}{
		release.Keep:    {rewriting: release.Upgrade},
		release.Adopt:   {rewriting: release.Upgrade},
		release.Install: {writes: true, rewriting: release.Install},
		release.Upgrade: {writes: true, rewriting: release.Upgrade},
		release.Recover: {writes: true, rewriting: release.Recover},
	}
	for action, test := range tests {
		if got := action.Writes(); got != test.writes {
			t.Errorf("%v writes: %t, want %t", action, got, test.writes)
		}
		if got := action.WithRewrite(true); got != test.rewriting {
			t.Errorf("%v with a reason to write is %v, want %v", action, got, test.rewriting)
		}
		if got := action.WithRewrite(false); got != action {
			t.Errorf("%v without a reason to write is %v", action, got)
		}
	}
}

func TestDecideRemoval(t *testing.T) {
	t.Parallel()
	own := release.Mark{Owner: "o", Target: "t", Instance: "i", AdoptionKey: "k"}
	by := func(change func(*release.Observed)) *release.Observed {
		observed := &release.Observed{Revision: 2, Mark: own}
		observed.Mark.Revision = 2
		change(observed)
		return observed
	}
	tests := map[string]struct {
		observed *release.Observed
		take     bool
		want     release.Action
		refused  bool
	}{
		"own":                            {observed: by(func(*release.Observed) {}), want: release.Uninstall},
		"nothing there":                  {want: release.Keep},
		"taken by an instance":           {observed: by(func(o *release.Observed) { o.Mark.Instance, o.Mark.AdoptionKey = "new", "" }), want: release.Keep},
		"adopted with the key":           {observed: by(func(o *release.Observed) { o.Mark.Instance = "new" }), want: release.Keep},
		"adopted, with take_ownership":   {observed: by(func(o *release.Observed) { o.Mark.Instance = "new" }), take: true, want: release.Keep},
		"under a former name":            {observed: by(func(o *release.Observed) { o.Mark.Target = "former" }), want: release.Uninstall},
		"of plain Helm":                  {observed: &release.Observed{Revision: 2}, want: release.Keep},
		"changed by hand":                {observed: by(func(o *release.Observed) { o.Revision = 3 }), want: release.Keep, refused: true},
		"changed by hand, with consent":  {observed: by(func(o *release.Observed) { o.Revision = 3 }), take: true, want: release.Uninstall},
		"of plain Helm, take_ownership":  {observed: &release.Observed{Revision: 2}, take: true, want: release.Keep},
		"own, as state knows the record": {observed: by(func(o *release.Observed) { o.Mark.Instance = "imported" }), want: release.Uninstall},
	}
	own.KnownAs = "imported"
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := release.DecideRemoval(own, test.observed, test.take)
			if got != test.want || (err != nil) != test.refused {
				t.Errorf("got %v, %v, want %v, refused: %t", got, err, test.want, test.refused)
			}
		})
	}
}

func TestHashesCountEqualKeysTogether(t *testing.T) {
	t.Parallel()
	twice := release.Rendering{Objects: []diff.Object{{Kind: "ConfigMap", Name: "a", Hash: "1"}, {Kind: "ConfigMap", Name: "a", Hash: "2"}}}
	once := release.Rendering{Objects: twice.Objects[:1]}
	if twice.Hashes()["ConfigMap/a"] == once.Hashes()["ConfigMap/a"] {
		t.Error("a second object with the same key does not show in the hash")
	}
}
