package main_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// maxMethods is how many methods a type may have. A type with more does more than one thing.
const maxMethods = 20

func TestTypesHaveFewMethods(t *testing.T) {
	t.Parallel()
	methods := map[string]map[string]bool{} // names by folder and type, once for all platforms
	err := filepath.WalkDir("internal", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, declaration := range file.Decls {
			if of, ok := declaration.(*ast.FuncDecl); ok && of.Recv != nil {
				name := filepath.Dir(path) + "." + receiver(of.Recv.List[0].Type)
				if methods[name] == nil {
					methods[name] = map[string]bool{}
				}
				methods[name][of.Name.Name] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(methods) < 100 {
		t.Errorf("only %d types with methods were found", len(methods))
	}
	for name, of := range methods {
		if len(of) > maxMethods {
			t.Errorf("%s has %d methods, the limit is %d", name, len(of), maxMethods)
		}
	}
}

// receiver returns the name of the type of a receiver such as *store or list[T].
func receiver(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.StarExpr:
		return receiver(of.X)
	case *ast.IndexExpr:
		return receiver(of.X)
	case *ast.IndexListExpr:
		return receiver(of.X)
	case *ast.Ident:
		return of.Name
	}
	return ""
}
