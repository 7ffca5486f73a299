// Fleetfields has the table of every field of Fleet's API types, and generates the guide "Fleet,
// field by field" from it: go run . FILE, in this folder.
package main

import (
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run writes the guide into the file that args name.
func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: fleetfields FILE")
	}
	t, err := readTable("fields.yaml")
	if err != nil {
		return err
	}
	if err := os.WriteFile(args[0], []byte(t.guide()), 0o644); err != nil { //nolint:gosec // A guide is for everybody.
		return fmt.Errorf("writing the guide: %w", err)
	}
	return nil
}
