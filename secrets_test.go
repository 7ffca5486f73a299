package main_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Secret input is opened only where it is made, and where a chart is rendered. Credentials are opened
// where they are sent or decrypt.
func TestRevealingPackages(t *testing.T) {
	t.Parallel()

	var revealing []string
	err := filepath.WalkDir("internal", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if of, ok := n.(*ast.SelectorExpr); ok && of.Sel.Name == "Reveal" {
				revealing = append(revealing, filepath.ToSlash(filepath.Dir(path)))
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(revealing)
	want := []string{
		"internal/bundle", "internal/chart", "internal/git", "internal/kube/connect", "internal/render", "internal/secret", "internal/sops", "internal/target",
	}
	if diff := cmp.Diff(want, slices.Compact(revealing)); diff != "" {
		t.Errorf("packages that open secret input (-want +got):\n%s", diff)
	}
}
