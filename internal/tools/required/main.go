// Command required marks attributes as required in a schema that the CLI of Terraform has printed. It
// reads from standard input and writes to standard output.
//
// The provider declares an attribute of a nested object as optional if its elements can be unknown:
// a validator requires it, and its description ends in "Required." So documentation that is made from
// the schema would list it below "Optional".
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	decoder := json.NewDecoder(in)
	decoder.UseNumber()
	var schema any
	if err := decoder.Decode(&schema); err != nil {
		return fmt.Errorf("reading the schema: %w", err)
	}
	mark(schema)
	if err := json.NewEncoder(out).Encode(schema); err != nil {
		return fmt.Errorf("writing the schema: %w", err)
	}
	return nil
}

// mark marks all attributes in a part of a schema.
func mark(part any) {
	switch part := part.(type) {
	case []any:
		for _, item := range part {
			mark(item)
		}
	case map[string]any:
		if description, ok := part["description"].(string); ok && part["optional"] == true {
			if rest, isRequired := strings.CutSuffix(description, " Required."); isRequired {
				delete(part, "optional")
				part["required"] = true
				part["description"] = rest
			}
		}
		for _, item := range part {
			mark(item)
		}
	}
}
