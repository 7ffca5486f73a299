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
	// current: the mark was written for the revision that has it. proven: the record proves that.
	current, proven, sameDigest, takeOwnership bool
}

// marks are all kinds of owners of a release, in relation to target t of owner o, instance i.
func marks() map[string]release.Mark {
	return map[string]release.Mark{
		"none": {},
		// Fleet's agent writes chart annotations into the record, and no label on it.
		"Fleet's":                        {},
		"own":                            {Owner: "o", Target: "t", Instance: "i", AdoptionKey: "k"},
		"own, before it had a key":       {Owner: "o", Target: "t", Instance: "i"},
		"own, former name":               {Owner: "o", Target: "former", Instance: "i"},
		"own, former owner":              {Owner: "former", Target: "t", Instance: "i"},
		"same target, other instance":    {Owner: "o", Target: "t", Instance: "j"},
		"same target, same key":          {Owner: "o", Target: "t", Instance: "j", AdoptionKey: "k"},
		"other target":                   {Owner: "o", Target: "u", Instance: "j"},
		"other target, same key":         {Owner: "o", Target: "u", Instance: "j", AdoptionKey: "k"},
		"other owner":                    {Owner: "p", Target: "t", Instance: "j"},
		"other owner with the same key":  {Owner: "p", Target: "t", Instance: "j", AdoptionKey: "k"},
		"other owner, without any names": {Owner: "p"},
	}
}

// claims are the ownerships that the marks claim if nothing proves them.
func claims() map[string]release.Ownership {
	return map[string]release.Ownership{
		"none": release.Unmarked, "Fleet's": release.Unmarked,
		"own": release.SameName, "own, before it had a key": release.SameName, "own, former name": release.OtherTarget,
		"own, former owner":           release.OtherOwner,
		"same target, other instance": release.SameName, "same target, same key": release.SameName,
		"other target": release.OtherTarget, "other target, same key": release.OtherTarget,
		"other owner": release.OtherOwner, "other owner with the same key": release.OtherOwner, "other owner, without any names": release.OtherOwner,
	}
}

// expectedOwnership is the ownership of a release that the state does not have.
func expectedOwnership(mark string, current, proven bool) release.Ownership {
	switch {
	case proven && marks()[mark].Instance == "i":
		return release.Self
	case proven:
		return release.SameKey
	case !current && marks()[mark].Owner != "":
		return release.OtherTool
	}
	return claims()[mark]
}

// wanted is target t of owner o, which wants digest d.
func wanted() release.Claimant {
	return release.Claimant{
		Mark:  release.Mark{Owner: "o", Target: "t", Instance: "i", AdoptionKey: "k", Bundle: "b", Digest: "d"},
		Proof: release.Proof{Key: "secret", UID: "uid"},
	}
}

// observedWith returns revision 3 of a release with a mark. If it is proven, the target wrote the
// labels.
func observedWith(mark release.Mark, current, proven bool) release.Observed {
	observed := release.Observed{Release: "r", Namespace: "ns", Revision: 3, Status: release.StatusDeployed, Mark: mark, Content: "content"}
	if current {
		observed.Mark.Revision = 3
	}
	if proven {
		observed.MAC = wanted().Proof.OfLabels(observed)
	}
	return observed
}

func TestOwnership(t *testing.T) {
	t.Parallel()
	for name, mark := range marks() {
		for i := range 4 {
			current, proven := i&1 > 0, i&2 > 0
			t.Run(fmt.Sprintf("%s, current: %t, proven: %t", name, current, proven), func(t *testing.T) {
				t.Parallel()
				observed := observedWith(mark, current, proven)
				if got, want := wanted().Ownership(observed), expectedOwnership(name, current, proven); got != want {
					t.Errorf("got %v, want %v", got, want)
				}
				if got := wanted().Trusts(observed); got != proven {
					t.Errorf("trusted: %t, want %t", got, proven)
				}
			})
		}
	}
}

// Each row has a record of revision 3, what state has of the release, and what follows: who has the
// release, whether its labels count, and what a write and a removal do.
func TestOwnershipOfKnownReleases(t *testing.T) {
	t.Parallel()
	known := func(change ...func(*release.Known)) *release.Known {
		made := &release.Known{Release: "r", Namespace: "ns", UID: "uid", Instance: "i", Key: "secret", Revision: 3, Digest: "d"}
		for _, change := range change {
			change(made)
		}
		return made
	}
	at := func(revision int) func(*release.Known) { return func(k *release.Known) { k.Revision = revision } }
	imported := func(k *release.Known) { k.Key, k.Imported, k.Instance = "new", true, "imported" }
	own := marks()["own"]
	own.Digest = "d"
	other, foreign, former := own, own, own
	other.Instance, foreign.Owner, former.Instance = "j", "p", "imported"
	by := func(key, uid string, observed release.Observed) release.Observed {
		observed.MAC = release.Proof{Key: key, UID: uid}.OfLabels(observed)
		return observed
	}
	forged := func(change func(*release.Observed)) release.Observed {
		observed := observedWith(own, true, true)
		change(&observed)
		return observed
	}
	tests := map[string]struct {
		observed  release.Observed
		known     *release.Known
		ownership release.Ownership
		distrust  bool
		write     release.Action
		refused   bool // both, without consent
		remove    release.Action
		consent   release.Action // to the removal
	}{
		"as state has it":                     {observed: observedWith(own, true, true), known: known(), ownership: release.Self, remove: release.Uninstall, consent: release.Uninstall},
		"newer, left by a killed update":      {observed: observedWith(own, true, true), known: known(at(2)), ownership: release.Self, remove: release.Uninstall, consent: release.Uninstall},
		"with the key of the release":         {observed: by("former", "uid", observedWith(own, true, false)), known: known(func(k *release.Known) { k.Key = "former" }), ownership: release.Self, remove: release.Uninstall, consent: release.Uninstall},
		"written when no UID could be read":   {observed: by("secret", "", observedWith(own, true, false)), known: known(func(k *release.Known) { k.UID = "" }), ownership: release.Self, remove: release.Uninstall, consent: release.Uninstall},
		"with the id that state has":          {observed: observedWith(former, true, true), known: known(func(k *release.Known) { k.Instance = "imported" }), ownership: release.Self, write: release.Adopt, remove: release.Uninstall, consent: release.Uninstall},
		"handed over with the adoption key":   {observed: observedWith(other, true, true), known: known(at(2)), ownership: release.SameKey, write: release.Adopt, remove: release.Keep, consent: release.Keep},
		"imported":                            {observed: observedWith(former, true, false), known: known(imported), ownership: release.Self, write: release.Adopt, remove: release.Uninstall, consent: release.Uninstall},
		"imported, and changed since":         {observed: observedWith(former, true, false), known: known(imported, at(2)), ownership: release.OtherTool, distrust: true, write: release.Upgrade, refused: true, consent: release.Uninstall},
		"imported, with other labels since":   {observed: observedWith(other, true, false), known: known(imported), ownership: release.OtherTool, distrust: true, write: release.Upgrade, refused: true, consent: release.Keep},
		"imported, changed by hand before":    {observed: observedWith(former, false, false), known: known(imported), ownership: release.OtherTool, distrust: true, write: release.Upgrade, refused: true, consent: release.Uninstall},
		"imported, then left by a killed one": {observed: by("new", "uid", observedWith(own, true, false)), known: known(imported, at(2)), ownership: release.Self, remove: release.Uninstall, consent: release.Uninstall},
		"changed in place: digest":            {observed: forged(func(o *release.Observed) { o.Mark.Digest = "e" }), known: known(), ownership: release.Self, distrust: true, write: release.Upgrade, remove: release.Uninstall, consent: release.Uninstall},
		"changed in place: another owner":     {observed: observedWith(foreign, true, false), known: known(), ownership: release.Self, distrust: true, write: release.Upgrade, remove: release.Uninstall, consent: release.Uninstall},
		"changed in place: no labels":         {observed: observedWith(release.Mark{}, false, false), known: known(), ownership: release.Self, distrust: true, write: release.Upgrade, remove: release.Uninstall, consent: release.Uninstall},
		"changed in place: content":           {observed: forged(func(o *release.Observed) { o.Content = "x" }), known: known(), ownership: release.Self, distrust: true, write: release.Upgrade, remove: release.Uninstall, consent: release.Uninstall},
		"of another cluster":                  {observed: by("secret", "other", observedWith(own, true, false)), known: known(), ownership: release.Self, distrust: true, write: release.Upgrade, remove: release.Uninstall, consent: release.Uninstall},
		"a replay":                            {observed: observedWith(own, true, true), known: known(at(4)), ownership: release.OtherTool, distrust: true, write: release.Upgrade, refused: true, consent: release.Uninstall},
		"newer, as if by this target":         {observed: observedWith(own, true, false), known: known(at(2)), ownership: release.OtherTool, distrust: true, write: release.Upgrade, refused: true, consent: release.Uninstall},
		"newer, as if by another instance":    {observed: observedWith(other, true, false), known: known(at(2)), ownership: release.OtherTool, distrust: true, write: release.Upgrade, refused: true, consent: release.Keep},
		"newer, as if by another owner":       {observed: observedWith(foreign, true, false), known: known(at(2)), ownership: release.OtherTool, distrust: true, write: release.Upgrade, refused: true, consent: release.Uninstall},
		"newer, by hand":                      {observed: observedWith(own, false, false), known: known(at(2)), ownership: release.OtherTool, distrust: true, write: release.Upgrade, refused: true, consent: release.Uninstall},
		"newer, by plain Helm":                {observed: observedWith(release.Mark{}, false, false), known: known(at(2)), ownership: release.OtherTool, distrust: true, write: release.Upgrade, refused: true, consent: release.Uninstall},
		"never seen before":                   {observed: observedWith(own, true, false), known: known(at(0)), ownership: release.OtherTool, distrust: true, write: release.Upgrade, refused: true, consent: release.Uninstall},
		"on a new cluster of the same name":   {observed: observedWith(own, true, false), known: known(func(k *release.Known) { k.UID = "former" }), ownership: release.SameName, distrust: true, write: release.Upgrade, refused: true, remove: release.Keep, consent: release.Keep},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			claimant := wanted()
			claimant.Known = test.known
			if got := claimant.Ownership(test.observed); got != test.ownership {
				t.Errorf("ownership %v, want %v", got, test.ownership)
			}
			if got := claimant.Trusts(test.observed); got == test.distrust {
				t.Errorf("trusted: %t", got)
			}
			if got, want := claimant.IsForged(test.observed), test.ownership == release.Self && test.distrust; got != want {
				t.Errorf("changed in place: %t, want %t", got, want)
			}
			got, err := release.Decide(release.Facts{}, claimant, &test.observed, true)
			expectAction(t, got, err, test.write)
			got, err = release.DecideRemoval(claimant, &test.observed, true)
			expectAction(t, got, err, test.consent)
			_, err = release.Decide(release.Facts{}, claimant, &test.observed, false)
			if isForeign := errors.As(err, new(*release.ForeignError)); isForeign != test.refused {
				t.Errorf("write without consent: %v", err)
			}
			got, err = release.DecideRemoval(claimant, &test.observed, false)
			if isForeign := errors.As(err, new(*release.ForeignError)); got != test.remove || isForeign != (test.ownership == release.OtherTool) {
				t.Errorf("removal without consent: %v, %v", got, err)
			}
		})
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
	nobody := release.Claimant{Mark: release.Mark{Owner: "o", Target: "t"}}
	observed := release.Observed{Mark: nobody.Mark}
	observed.MAC = nobody.Proof.OfLabels(observed)
	if got := nobody.Ownership(observed); got != release.SameName {
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
	wanted := wanted()
	rows := 0
	for row := range combinations(unfinished) {
		rows++
		t.Run(fmt.Sprintf("%+v", row), func(t *testing.T) {
			t.Parallel()
			mark := marks()[row.mark]
			if row.sameDigest {
				mark.Digest = wanted.Mark.Digest
			}
			observed := observedWith(mark, row.current, row.proven)
			observed.Status = row.status
			ownership := expectedOwnership(row.mark, row.current, row.proven)
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
			case !row.current || !row.sameDigest || !row.proven:
				expectAction(t, got, err, release.Upgrade)
			case mark.Instance == wanted.Mark.Instance:
				expectAction(t, got, err, release.Keep)
			default:
				expectAction(t, got, err, release.Adopt)
			}
		})
	}
	if want := 9 * len(marks()) * 16; rows != want {
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
				for i := range 16 {
					if !yield(combination{status, mark, either[i&1], either[i>>1&1], either[i>>2&1], either[i>>3&1]}) {
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
			wanted := wanted()
			wanted.Known = &release.Known{Instance: "imported", Revision: 3, UID: "uid", Key: "secret"}
			observed := observedWith(wanted.Mark, true, false)
			if test.observed != nil {
				test.observed(&observed)
			}
			observed.MAC = wanted.Proof.OfLabels(observed)
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

// The rows of releases that state has are in TestOwnershipOfKnownReleases.
func TestDecideRemoval(t *testing.T) {
	t.Parallel()
	own := wanted()
	tests := map[string]struct {
		observed *release.Observed
		want     release.Action
	}{
		"nothing there": {want: release.Keep},
	}
	for name, mark := range marks() {
		if claims()[name] == release.OtherTool {
			continue
		}
		observed := observedWith(mark, true, false)
		tests["claimed: "+name] = struct {
			observed *release.Observed
			want     release.Action
		}{&observed, release.Keep}
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, take := range []bool{false, true} {
				got, err := release.DecideRemoval(own, test.observed, take)
				expectAction(t, got, err, test.want)
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
