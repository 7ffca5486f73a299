package provider

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

func wants(instance, config string, releases ...claimed) claim {
	made := claim{instance: instance, config: tfsdk.Config{Raw: tftypes.NewValue(tftypes.String, config)}, releases: map[claimed]string{}}
	for _, release := range releases {
		made.releases[release] = release.cluster + "/" + release.release
	}
	return made
}

func sameName(a, b string) bool { return a == b }

func TestClaims(t *testing.T) {
	t.Parallel()
	web, db, elsewhere := claimed{"a", "ns/web"}, claimed{"a", "ns/db"}, claimed{"b", "ns/web"}
	type step struct {
		target string
		wants  claim
	}
	tests := map[string]struct {
		before    []step
		then      step
		conflicts []conflict
		namesake  bool
	}{
		"the first":                  {then: step{"left", wants("", "1", web)}},
		"another release":            {before: []step{{"left", wants("", "1", web)}}, then: step{"right", wants("", "2", db)}},
		"another cluster":            {before: []step{{"left", wants("", "1", web)}}, then: step{"right", wants("", "2", elsewhere)}},
		"the same release":           {before: []step{{"left", wants("x", "1", web)}}, then: step{"right", wants("", "2", web, db)}, conflicts: []conflict{{release: "ns/web", target: "left", theirs: "a/ns/web", ours: "a/ns/web"}}},
		"the second leg of replace":  {before: []step{{"left", wants("x", "1", web)}}, then: step{"left", wants("", "1", web)}},
		"planned again":              {before: []step{{"left", wants("x", "1", web)}}, then: step{"left", wants("x", "1", web)}},
		"lost by the other":          {before: []step{{"left", wants("x", "1", web)}, {"left", wants("x", "1", db)}}, then: step{"right", wants("", "2", web)}},
		"two of one name, by id":     {before: []step{{"left", wants("x", "1", web)}}, then: step{"left", wants("y", "1", db)}, namesake: true},
		"two of one name, by config": {before: []step{{"left", wants("", "1", web)}}, then: step{"left", wants("", "2", db)}, namesake: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var known claims
			for _, before := range test.before {
				known.add(before.target, before.wants, sameName)
			}
			conflicts, namesake := known.add(test.then.target, test.then.wants, sameName)
			if diff := cmp.Diff(test.conflicts, conflicts, cmp.AllowUnexported(conflict{})); diff != "" {
				t.Errorf("conflicts (-want +got):\n%s", diff)
			}
			if namesake != test.namesake {
				t.Errorf("namesake = %t", namesake)
			}
		})
	}
}

// What one process has planned another one knows, until it has planned it anew.
func TestClaimsReachTheNextProcess(t *testing.T) {
	t.Parallel()
	web := claimed{"a", "ns/web"}
	kept := ledger{path: filepath.Join(t.TempDir(), "ledger.json")}
	planning := claims{ledger: kept}
	planning.add("loser", wants("x", "1"), sameName)
	planning.add("gainer", wants("", "2", web), sameName)

	applying := claims{ledger: kept}
	applying.add("loser", wants("x", "1"), sameName)
	if !applying.wantedByAnother("loser", "", web, sameName) {
		t.Error("the gainer is not known to want it")
	}
	if applying.wantedByAnother("gainer", "", web, sameName) {
		t.Error("the loser is said to want it")
	}
	applying.add("gainer", wants("", "2"), sameName)
	if applying.wantedByAnother("loser", "", web, sameName) {
		t.Error("what was planned anew does not count")
	}
	planning.drop("gainer", "")
	planning.drop("loser", "")
	if _, err := os.Stat(kept.path); !os.IsNotExist(err) {
		t.Errorf("an empty ledger is left: %v", err)
	}
}

// A target gets another address and keeps its name: one is deleted, the other made, in
// whichever order. What the new one wants is left to it, and nothing else.
func TestClaimsOfOneName(t *testing.T) {
	t.Parallel()
	web, db := claimed{"a", "ns/web"}, claimed{"a", "ns/db"}
	for name, plan := range map[string]func(c *claims){
		"made, then deleted": func(c *claims) { c.add("t", wants("", "1", web), sameName); c.drop("t", "old") },
		"deleted, then made": func(c *claims) { c.drop("t", "old"); c.add("t", wants("", "1", web), sameName) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kept := ledger{path: filepath.Join(t.TempDir(), "ledger.json")}
			// What an earlier run has noted of the old one counts no more.
			(&claims{ledger: kept}).add("t", wants("", "0", web, db), sameName)
			planning, applying := &claims{ledger: kept}, &claims{ledger: kept}
			plan(planning)
			for what, known := range map[string]*claims{"the same process": planning, "the next process": applying} {
				known.retire("t", "old")
				if !known.wantedByAnother("t", "old", web, sameName) {
					t.Errorf("in %s nobody wants what the new one wants", what)
				}
				if known.wantedByAnother("t", "old", db, sameName) {
					t.Errorf("in %s somebody wants what nobody wants", what)
				}
				if known.wantedByAnother("t", "", web, sameName) {
					t.Errorf("in %s the new one is in its own way", what)
				}
			}
		})
	}
	// One that was made is known by its id, and goes with it.
	made := &claims{ledger: ledger{path: filepath.Join(t.TempDir(), "ledger.json")}}
	made.add("t", wants("", "0", web), sameName)
	made.made("t", "id")
	next := &claims{ledger: made.ledger}
	next.retire("t", "id")
	if next.wantedByAnother("other", "", web, sameName) {
		t.Error("a target that was replaced under another name still wants something")
	}
	// Only deleted: an earlier note keeps nothing back.
	kept := ledger{path: filepath.Join(t.TempDir(), "ledger.json")}
	(&claims{ledger: kept}).add("t", wants("", "0", web), sameName)
	(&claims{ledger: kept}).drop("t", "old")
	applying := &claims{ledger: kept}
	applying.retire("t", "old")
	if applying.wantedByAnother("t", "old", web, sameName) {
		t.Error("a destroyed target leaves its releases to nobody")
	}
}

func TestLedgerForgets(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.json")
	for name, content := range map[string]any{
		"what is old":   map[string]entry{"t": {Noted: time.Now().Add(-ledgerLife - time.Minute), Releases: map[string][]string{"a": {"ns/web"}}}},
		"what is wrong": []string{"no ledger"},
	} {
		raw, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := (ledger{path: path}).read(); len(got) > 0 {
			t.Errorf("%s is read: %v", name, got)
		}
	}
	if got := newLedger("", "o"); got.path != "" {
		t.Errorf("a ledger without a workspace: %s", got.path)
	}
}

// A removal waits for the plans that have begun.
func TestClaimsSettle(t *testing.T) {
	t.Parallel()
	var known claims
	known.settle(t.Context()) // Nothing is being planned.
	first, second := known.begin(), known.begin()
	settled := make(chan struct{})
	go func() {
		known.settle(t.Context())
		close(settled)
	}()
	first()
	select {
	case <-settled:
		t.Error("it did not wait for the second plan")
	default:
	}
	second()
	<-settled
	ctx, cancel := context.WithCancel(t.Context())
	defer known.begin()()
	cancel()
	known.settle(ctx) // It gives up with the operation.
}
