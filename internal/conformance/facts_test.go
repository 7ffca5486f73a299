package conformance_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// updateFlag makes TestFacts write its results instead of comparing them.
const updateFlag = "update"

func TestMain(m *testing.M) {
	flag.Bool(updateFlag, false, "write what is wanted into the fixtures that TestFacts reads")
	m.Run()
}

// fact is something that Fleet does.
type fact struct {
	ID string `json:"id"`
	// Section is the topic of the fact.
	Section string `json:"section"`
	Says    string `json:"says"`
	// Fleet is the place in Fleet's source.
	Fleet string `json:"fleet"`
}

// TestFacts runs the fixtures in testdata/facts and lists the facts of
// testdata/facts.yaml that none of them pins. A fixture is a txtar file:
//
//	pins: name-join
//	One or more sentences, and where it is in Fleet's source.
//	-- settings.yaml --   what is set beside the files, see settings
//	-- in/web/cm.yaml --  the repository
//	-- want/names --      what is made of it, see made.show
//
// Only the files below want/ are compared, so a fixture shows only its topic.
func TestFacts(t *testing.T) {
	t.Parallel()

	facts := readFacts(t)
	files, err := filepath.Glob(filepath.Join("testdata", "facts", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	update := flag.Lookup(updateFlag).Value.String() == "true"
	pinned := make(map[string]bool)
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		ids, err := pins(string(archive.Comment), facts)
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
		for _, id := range ids {
			pinned[id] = true
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			if update {
				updateFixture(t, file, archive)
				return
			}
			compareFixture(t, archive)
		})
	}
	t.Logf("%d fixtures pin %d of %d facts; without a fixture:%s", len(files), len(pinned), len(facts), unpinned(facts, pinned))
}

func readFacts(t *testing.T) map[string]fact {
	t.Helper()

	var list []fact
	readYAML(t, filepath.Join("testdata", "facts.yaml"), &list)
	facts := make(map[string]fact, len(list))
	for _, f := range list {
		if f.ID == "" || f.Section == "" || f.Says == "" || f.Fleet == "" {
			t.Errorf("fact %q lacks a part", f.ID)
		}
		if _, twice := facts[f.ID]; twice {
			t.Errorf("fact %q stands twice", f.ID)
		}
		facts[f.ID] = f
	}
	return facts
}

// pins returns the facts that the comment of a fixture names. The comment must name their places in
// Fleet's source.
func pins(comment string, facts map[string]fact) ([]string, error) {
	first, text, _ := strings.Cut(comment, "\n")
	list, ok := strings.CutPrefix(first, "pins: ")
	if !ok {
		return nil, fmt.Errorf("its first line is %q, not the facts it pins", first)
	}
	ids := strings.Split(list, ", ")
	sourced := false
	for _, id := range ids {
		known, ok := facts[id]
		if !ok {
			return nil, fmt.Errorf("there is no fact %q", id)
		}
		sourced = sourced || strings.Contains(text, known.Fleet)
	}
	if !sourced {
		return nil, fmt.Errorf("its comment does not say where in Fleet's source %s stands", list)
	}
	return ids, nil
}

func TestPins(t *testing.T) {
	t.Parallel()

	facts := map[string]fact{"a": {Fleet: "internal/a.go"}, "b": {Fleet: "internal/b.go"}}
	tests := map[string]struct {
		comment string
		want    []string // nil: an error.
	}{
		"one":         {"pins: a\nBecause. Fleet: internal/a.go\n", []string{"a"}},
		"several":     {"pins: a, b\nBecause. Fleet: internal/b.go\n", []string{"a", "b"}},
		"unknown":     {"pins: a, c\nBecause. Fleet: internal/a.go\n", nil},
		"no source":   {"pins: a\nBecause.\n", nil},
		"no facts":    {"Because. Fleet: internal/a.go\n", nil},
		"other facts": {"pins: a\nBecause. Fleet: internal/b.go\n", nil},
		"nothing":     {"", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := pins(test.comment, facts)
			if diff := cmp.Diff(test.want, got); diff != "" || (err == nil) != (test.want != nil) {
				t.Errorf("error %v, (-want +got):\n%s", err, diff)
			}
		})
	}
}

func unpinned(facts map[string]fact, pinned map[string]bool) string {
	var text strings.Builder
	for _, id := range slices.Sorted(maps.Keys(facts)) {
		if !pinned[id] {
			fmt.Fprintf(&text, "\n  %s: %s", id, facts[id].Says)
		}
	}
	return text.String()
}

func compareFixture(t *testing.T, archive *txtar.Archive) {
	t.Helper()

	m, wanted := makeFixture(t, archive), make(map[string]bool)
	for _, file := range archive.Files {
		name, ok := strings.CutPrefix(file.Name, "want/")
		if !ok {
			continue
		}
		wanted[name] = true
		if diff := cmp.Diff(string(file.Data), m.show(t, name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if len(wanted) == 0 {
		t.Error("the fixture wants nothing")
	}
	if m.err != nil && !wanted["error"] {
		t.Errorf("unwanted error: %v", m.err)
	}
}

func updateFixture(t *testing.T, file string, archive *txtar.Archive) {
	t.Helper()

	m := makeFixture(t, archive)
	for i := range archive.Files {
		if name, ok := strings.CutPrefix(archive.Files[i].Name, "want/"); ok {
			archive.Files[i].Data = []byte(m.show(t, name))
		}
	}
	if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
		t.Fatal(err)
	}
}
