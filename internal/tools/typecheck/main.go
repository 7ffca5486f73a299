// Command typecheck checks the types of all packages of a module and of all that they import, for
// other operating systems. It checks tests too, except for Windows, where they do not run. It reads
// sources and compiles nothing, so it takes seconds where builds for these systems take minutes.
//
//	typecheck DIR GOOS...
package main

import (
	"fmt"
	"os"

	"golang.org/x/tools/go/packages"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: typecheck DIR GOOS...")
		os.Exit(2)
	}
	failed := false
	for _, system := range os.Args[2:] {
		errors, err := check(os.Args[1], system)
		if err != nil {
			fmt.Fprintf(os.Stderr, "loading the packages for %s: %v\n", system, err)
		}
		failed = failed || err != nil || errors > 0
	}
	if failed {
		os.Exit(1)
	}
}

// check prints the errors of all packages on one system and returns how many there are.
func check(dir, system string) (int, error) {
	config := &packages.Config{
		Mode:  packages.LoadAllSyntax,
		Dir:   dir,
		Env:   append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0", "GOWORK=off"),
		Tests: system != "windows",
	}
	all, err := packages.Load(config, "./...")
	if err != nil {
		return 0, err
	}
	if len(all) == 0 {
		return 0, fmt.Errorf("there are no packages in %s", dir)
	}
	errors := packages.PrintErrors(all)
	if errors > 0 {
		fmt.Fprintf(os.Stderr, "%d errors on %s\n", errors, system)
	}
	return errors, nil
}
