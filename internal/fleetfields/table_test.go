package main

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func loadTable(t *testing.T) table {
	t.Helper()
	read, err := readTable("fields.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func (s section) fields() []string {
	var fields []string
	for _, r := range s.Rows {
		fields = append(fields, r.Fields...)
	}
	return fields
}

// whole returns the fields whose rows also cover the fields below them.
func (s section) whole() []string {
	var whole []string
	for _, r := range s.Rows {
		if r.Whole || r.Like != "" {
			whole = append(whole, r.Fields...)
		}
	}
	return whole
}

// Each field of Fleet's types has a row, and each row a field.
func TestEveryFieldHasARow(t *testing.T) {
	t.Parallel()

	types := fleetTypes()
	var sections []string
	for _, s := range loadTable(t).Sections {
		sections = append(sections, s.Type)
		of, ok := types[s.Type]
		if !ok {
			t.Errorf("section %s: Fleet has no such type, or no test knows it", s.Type)
			continue
		}
		t.Run(s.Type, func(t *testing.T) {
			t.Parallel()

			for _, problem := range s.compare(types, of) {
				t.Error(problem)
			}
		})
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(types)), slices.Sorted(slices.Values(sections))); diff != "" {
		t.Errorf("sections (-types +sections):\n%s", diff)
	}
}

// compare returns the differences between the section and the type, one line each.
func (s section) compare(types map[string]reflect.Type, of reflect.Type) []string {
	w := newWalker(types, s.whole())
	w.walk("", of)
	var problems []string
	seen := make(map[string]bool)
	for _, r := range s.Rows {
		for _, field := range r.Fields {
			_, known := w.fields[field]
			switch {
			case seen[field]:
				problems = append(problems, field+" has two rows")
			case known && (r.Beside != "" || r.Newer != ""):
				problems = append(problems, field+` is a field of Fleet by now, so its row needs no "beside" and no "newer"`)
			case !known && r.Beside == "" && r.Newer == "":
				problems = append(problems, field+" has a row, and Fleet has no such field")
			}
			seen[field] = true
		}
	}
	for _, field := range slices.Sorted(maps.Keys(w.fields)) {
		if !seen[field] {
			problems = append(problems, field+" has no row: find out what it does here, and write it into fields.yaml")
		}
	}
	if diff := cmp.Diff(w.includes, s.Includes); diff != "" {
		problems = append(problems, "includes (-embedded +fields.yaml):\n"+diff)
	}
	return problems
}

func TestCompare(t *testing.T) {
	t.Parallel()

	type below struct {
		A string `json:"a"`
		B []int  `json:"b,omitempty"`
	}
	type embedded struct {
		Hidden int `json:"name"`
		Inner  int `json:"inner"`
	}
	type outer struct {
		embedded `json:",inline"`

		Name  string `json:"name"`
		Other below  `json:"other"`
		Skip  int    `json:"-"`
	}
	rows := func(fields ...string) section { return section{Rows: []row{{Fields: fields}}} }
	tests := map[string]struct {
		section section
		want    []string
	}{
		"whole":           {section: rows("name", "other", "inner")},
		"a missing field": {section: rows("name", "inner"), want: []string{"other has no row: find out what it does here, and write it into fields.yaml"}},
		"a row too many":  {section: rows("name", "inner", "other", "none"), want: []string{"none has a row, and Fleet has no such field"}},
		"a row twice":     {section: rows("name", "inner", "other", "name"), want: []string{"name has two rows"}},
		"beside":          {section: section{Rows: []row{{Fields: []string{"name", "inner", "other"}}, {Fields: []string{"more"}, Beside: "why"}}}},
		"no longer beside": {
			section: section{Rows: []row{{Fields: []string{"name", "inner"}}, {Fields: []string{"other"}, Beside: "why"}}},
			want:    []string{`other is a field of Fleet by now, so its row needs no "beside" and no "newer"`},
		},
		"newer": {section: section{Rows: []row{{Fields: []string{"name", "inner", "other"}}, {Fields: []string{"more"}, Newer: "0.17"}}}},
		"no longer newer": {
			section: section{Rows: []row{{Fields: []string{"name", "inner"}}, {Fields: []string{"other"}, Newer: "0.17"}}},
			want:    []string{`other is a field of Fleet by now, so its row needs no "beside" and no "newer"`},
		},
		"includes nothing": {
			section: section{Includes: []string{"x"}, Rows: rows("name", "inner", "other").Rows},
			want:    []string{"includes"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			got := test.section.compare(nil, reflect.TypeFor[outer]())
			for i := range got {
				if head, _, long := strings.Cut(got[i], " (-embedded"); long {
					got[i] = head
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("compare() (-want +got):\n%s", diff)
			}
		})
	}
}

// The table names the version of Fleet with which the tests compare it, so that the guide does.
func TestVersionOfFleet(t *testing.T) {
	t.Parallel()

	list, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if want := "github.com/rancher/fleet/pkg/apis " + loadTable(t).Fleet + "\n"; !strings.Contains(string(list), want) {
		t.Errorf("go.mod does not have %q; look at the fields of that version before you change it in fields.yaml", want)
	}
}

// Rows are complete.
func TestRowsAreWhole(t *testing.T) {
	t.Parallel()

	read := loadTable(t)
	for _, s := range read.Sections {
		for _, r := range s.Rows {
			at := s.Type + ": " + strings.Join(r.Fields, ", ")
			if r.Like != "" {
				read.checkLike(t, s, r)
				continue
			}
			r.check(t, at)
			if (r.Custom != nil) != (s.Type == "BundleDeploymentOptions") {
				t.Errorf("%s: options of a bundle, and they alone, say what they do in a customization", at)
			}
			if r.Custom != nil {
				r.Custom.check(t, at+" in a customization")
			}
		}
	}
}

func (b behaviour) check(t *testing.T, at string) {
	t.Helper()
	switch b.Here {
	case notApplicable:
		if len(b.Tests) > 0 {
			t.Errorf("%s: what is not applicable has a reason and no tests", at)
		}
	case effect, failure, note:
		if len(b.Tests) == 0 {
			t.Errorf("%s: no test shows that it is %s", at, b.Here)
		}
	default:
		t.Errorf("%s: here is %q, which is none of %s, %s, %s and %s", at, b.Here, effect, failure, note, notApplicable)
	}
	if b.Says == "" || !strings.HasSuffix(b.Says, ".") {
		t.Errorf("%s: it says %q, which is no sentence", at, b.Says)
	}
}

// checkLike compares fields that act as in another section with that section: they must have the
// same types.
func (read table) checkLike(t *testing.T, s section, r row) {
	t.Helper()
	types := fleetTypes()
	other := slices.IndexFunc(read.Sections, func(s section) bool { return s.Type == r.Like })
	if other < 0 {
		t.Errorf("%s: there is no section %s", s.Type, r.Like)
		return
	}
	here, there := newWalker(types, s.whole()), newWalker(types, r.below())
	here.walk("", types[s.Type])
	there.walk("", types[r.Like])
	for _, field := range r.Fields {
		name := strings.TrimPrefix(field, "spec.")
		if here.fields[field] == nil || here.fields[field] != there.fields[name] {
			t.Errorf("%s: %s is not of the type that %s has in %s", s.Type, field, name, r.Like)
		}
		if !slices.ContainsFunc(read.Sections[other].fields(), func(f string) bool { return f == name || strings.HasPrefix(f, name+".") }) {
			t.Errorf("%s: section %s has no row for %s", s.Type, r.Like, name)
		}
	}
}

// below returns the fields of the row without "spec.".
func (r row) below() []string {
	names := make([]string, len(r.Fields))
	for i, field := range r.Fields {
		names[i] = strings.TrimPrefix(field, "spec.")
	}
	return names
}

// root returns the folder of the repository.
func root(t *testing.T) string {
	t.Helper()
	folder, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(folder, "GNUmakefile")); err != nil {
		t.Fatal(err)
	}
	return folder
}

// The attributes that rows name exist.
func TestAttributesExist(t *testing.T) {
	t.Parallel()

	known := documented(t, root(t))
	for _, s := range loadTable(t).Sections {
		for _, r := range s.Rows {
			for _, attribute := range s.written(r) {
				if !known[attribute] {
					t.Errorf("%s: %s is written in %s, and docs/ describe no such attribute", s.Type, strings.Join(r.Fields, ", "), attribute)
				}
			}
		}
	}
}

// The guide is generated from this table.
func TestGuideIsUpToDate(t *testing.T) {
	t.Parallel()

	found, err := os.ReadFile(filepath.Join(root(t), "templates", "guides", "fleet-fields.md.tmpl"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(loadTable(t).guide(), string(found)); diff != "" {
		t.Errorf("the guide is not up to date; make generate writes it (-want +got):\n%s", diff)
	}
}
