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

// unrecovered returns the functions that start a goroutine or fill a once without a call of
// panics.Recover there. Each has the reason why no panic can escape there.
func unrecovered() map[string]string {
	return map[string]string{
		"run.extendDeadline":    "it waits and cancels",
		"helm.enter":            "it counts",
		"helm.setFieldManager":  "it sets a variable",
		"kustomize.limitCopies": "it sets a variable",
		"connect.codecs":        "it makes a codec of compiled-in types",
		"run.clusterRuns":       "sync.OnceValue raises a panic again in each caller, and removeAll recovers",
		"git.dialSSH":           "it closes a connection",
		"git.connect":           "it closes a connection",
		"git.advertise":         "it closes a connection",
		"git.ask":               "it closes a connection",
		"fetch.WithIdleTimeout": "it cancels a context",
		"fetch.join":            "Group.run recovers around the work",
		"worker.serve":          "it runs in the worker process",
		"worker.run":            "it runs in the worker process",
		"worker.kill":           "it closes channels and pipes, and sends a signal",
		"worker.encoder":        "it makes a codec of its own options",
		"worker.decoder":        "it makes a codec of its own options",
		"main.main":             "it reads a metric and sets a percentage",
		"main.serve":            "it waits for the parent process and ends this one",
	}
}

// A panic in the work of one deployment fails that deployment only. A panic in a goroutine without
// recovery ends the provider, and with it the work on all clusters.
func TestGoroutinesRecover(t *testing.T) {
	t.Parallel()
	// These packages run in another process, or are not part of the provider.
	elsewhere := map[string]bool{
		"bench": true, "testenv": true, "gittest": true, "charttest": true, "sopstest": true,
		"faulttest": true, "providertest": true, "conformance": true, "fleetfields": true, "policyexamples": true, "tools": true,
	}
	excused := unrecovered()
	used := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if path != "." && strings.HasPrefix(entry.Name(), ".") || elsewhere[entry.Name()] || path == filepath.FromSlash("internal/worker/templates") || entry.Name() == "testdata" || entry.Name() == "examples" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, declaration := range file.Decls {
			for _, start := range startsOf(declaration) {
				name := file.Name.Name + "." + nameOf(declaration)
				if recovers(start) {
					continue
				}
				if excused[name] == "" {
					t.Errorf("%s: a panic in this function ends the provider; pass it through panics.Recovering (%s)", files.Position(start.Pos()), name)
				}
				used[name] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range excused {
		if !used[name] {
			t.Errorf("%s is excused and does nothing of the kind any more", name)
		}
	}
}

// startsOf returns the statements and calls that run a function without a caller that recovers for
// it. It also returns those in which a panic leaves a once half filled.
func startsOf(declaration ast.Decl) []ast.Node {
	var starts []ast.Node
	ast.Inspect(declaration, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.GoStmt:
			starts = append(starts, node)
		case *ast.CallExpr:
			called, ok := node.Fun.(*ast.SelectorExpr)
			if !ok || len(node.Args) == 0 {
				return true
			}
			switch called.Sel.Name {
			case "Go", "TryGo", "DoChan", "AfterFunc", "OnceFunc", "OnceValue", "OnceValues":
				starts = append(starts, node)
			case "Do":
				from, _ := called.X.(*ast.Ident)
				_, ok := node.Args[len(node.Args)-1].(*ast.FuncLit)
				// retry.Do calls the function in the goroutine of its caller. fetch.Group.Do, with more arguments, recovers.
				if ok && len(node.Args) <= 2 && (from == nil || from.Name != "retry") {
					starts = append(starts, node)
				}
			}
		}
		return true
	})
	return starts
}

// recovers reports whether a call of the panics package is between the start and the work:
// panics.Recover is deferred, or panics.Recovering runs the rest.
func recovers(start ast.Node) bool {
	found := false
	ast.Inspect(start, func(node ast.Node) bool {
		if called, ok := node.(*ast.SelectorExpr); ok {
			pack, ok := called.X.(*ast.Ident)
			found = found || ok && pack.Name == "panics" && strings.HasPrefix(called.Sel.Name, "Recover")
		}
		return true
	})
	return found
}

func nameOf(declaration ast.Decl) string {
	switch declaration := declaration.(type) {
	case *ast.FuncDecl:
		return declaration.Name.Name
	case *ast.GenDecl:
		for _, spec := range declaration.Specs {
			if value, ok := spec.(*ast.ValueSpec); ok {
				return value.Names[0].Name
			}
		}
	}
	return ""
}
