package main

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// proofs are the tests of the repository, by "package.TestName".
type proofs map[string]proof

// proof is a test in the source.
type proof struct {
	// folder is the folder of the package.
	folder string
	// source is the text of the test.
	source string
	// texts are the string literals in the file of the test.
	texts map[string]bool
}

// ofTheTable is the test that reads the table itself, so its source names no field.
const ofTheTable = "fleetyaml.TestFieldsOfFleet"

// Each test that a row names exists, and so does the row of its table.
func TestProofsExist(t *testing.T) {
	t.Parallel()

	tests := findTests(t, filepath.Join(root(t), "internal"))
	for _, s := range loadTable(t).Sections {
		for _, r := range s.Rows {
			at := s.Type + ": " + strings.Join(r.Fields, ", ")
			tests.check(t, at, r.Tests, r, s.written(r))
			if r.Custom != nil {
				tests.check(t, at+" in a customization", r.Custom.Tests, r, s.written(r))
			}
		}
	}
}

// check fails if a test is missing, or if no test names a field or its attribute. Fields of a
// status need not be named: they have other names here.
func (p proofs) check(t *testing.T, at string, tests []string, r row, attributes []string) {
	t.Helper()
	var all strings.Builder
	for _, test := range tests {
		if problem := p.missing(test); problem != "" {
			t.Errorf("%s: test %s: %s", at, test, problem)
			return
		}
		if test == ofTheTable {
			return
		}
		all.WriteString(p.text(test))
	}
	text := plain(all.String())
	has := func(path string) bool { return strings.Contains(text, plain(path[strings.LastIndex(path, ".")+1:])) }
	if len(tests) == 0 || slices.ContainsFunc(attributes, has) {
		return
	}
	for _, field := range r.Fields {
		if !has(field) && !strings.HasPrefix(field, "status.") {
			t.Errorf("%s: none of %s says a word of %s", at, strings.Join(tests, ", "), field)
		}
	}
}

// plain returns a name in a form that is the same in YAML, in HCL and in Go.
func plain(text string) string { return strings.ToLower(strings.ReplaceAll(text, "_", "")) }

// text returns the source of a test, with the fixture that is its row.
func (p proofs) text(name string) string {
	name, row, _ := strings.Cut(name, "/")
	found := p[name]
	return found.source + found.fixture(row)
}

// missing describes what is missing of a test, such as "target.TestMatch/a name"; "" if nothing is.
func (p proofs) missing(name string) string {
	name, row, hasRow := strings.Cut(name, "/")
	found, ok := p[name]
	if !ok {
		return "there is no such test in internal/"
	}
	if !hasRow || found.texts[row] || found.fixture(row) != "" {
		return ""
	}
	return "neither its file nor testdata/ has a row " + strconv.Quote(row)
}

// fixture returns the content of the file of testdata that has the name of a row, "" if there is
// none.
func (p proof) fixture(row string) string {
	content := ""
	_ = filepath.WalkDir(filepath.Join(p.folder, "testdata"), func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fs.SkipAll // There is no testdata.
		}
		if entry.IsDir() || strings.TrimSuffix(entry.Name(), filepath.Ext(entry.Name())) != row {
			return nil
		}
		data, err := os.ReadFile(file) //nolint:gosec // A fixture of this repository.
		content = string(data)
		return errors.Join(err, fs.SkipAll)
	})
	return content
}

func TestMissing(t *testing.T) {
	t.Parallel()

	folder := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(folder, "room", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a_test.go", "package room\nfunc TestA(t *testing.T) { _ = \"a row\" }\nfunc helper() {}\nfunc (x y) TestMethod() {}\n")
	write("testdata/rows/fixture.txtar", "a: b\n")
	tests := findTests(t, folder)
	for name, want := range map[string]bool{
		"room.TestA": true, "room.TestA/a row": true, "room.TestA/fixture": true,
		"room.TestA/another row": false, "room.TestB": false, "other.TestA": false, "TestA": false,
		"room.helper": false, "room.TestMethod": false,
	} {
		if problem := tests.missing(name); (problem == "") != want {
			t.Errorf("missing(%q) = %q", name, problem)
		}
	}
}

// findTests reads the tests of the packages in the first two levels below a folder.
func findTests(t *testing.T, folder string) proofs {
	t.Helper()
	var files []string
	for _, pattern := range []string{"*/*_test.go", "*/*/*_test.go"} {
		more, err := filepath.Glob(filepath.Join(folder, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, more...)
	}
	if len(files) == 0 {
		t.Fatalf("no tests in %s", folder)
	}
	found := make(proofs)
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		files := token.NewFileSet()
		parsed, err := parser.ParseFile(files, file, source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		here := proof{folder: filepath.Dir(file), texts: textsOf(parsed)}
		for _, declaration := range parsed.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if ok && function.Recv == nil && strings.HasPrefix(function.Name.Name, "Test") {
				here.source = string(source[files.Position(function.Pos()).Offset:files.Position(function.End()).Offset])
				found[filepath.Base(here.folder)+"."+function.Name.Name] = here
			}
		}
	}
	return found
}

// textsOf returns the string literals of a file.
func textsOf(file *ast.File) map[string]bool {
	texts := make(map[string]bool)
	ast.Inspect(file, func(node ast.Node) bool {
		if literal, ok := node.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			if text, err := strconv.Unquote(literal.Value); err == nil {
				texts[text] = true
			}
		}
		return true
	})
	return texts
}
