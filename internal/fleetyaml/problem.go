package fleetyaml

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Kind is the kind of a Problem, for callers that treat kinds differently.
type Kind int

// The kinds of problems.
const (
	// Invalid is a value that Fleet does not support or use.
	Invalid Kind = iota
	// Syntax is text that is not YAML.
	Syntax
	// WrongType is a value whose type is not the type of its key.
	WrongType
	// UnknownKey is a key that Fleet does not have.
	UnknownKey
	// DuplicateKey is a key that is twice in one map.
	DuplicateKey
	// BadSelector is a label selector that Kubernetes does not accept.
	BadSelector
	// BadChart is a Chart.yaml that cannot be read.
	BadChart
	// ImageScansOff is a use of imageScans where nothing scans images.
	ImageScansOff
	// BadDependency is an entry of dependsOn that can never be met.
	BadDependency
	// TooLarge is a text that is too long or too deep, or that expands to more than
	// can be read.
	TooLarge
	// Note is no mistake, but may matter to the user.
	Note
)

// Problem is one error or warning about a file, with its position.
type Problem struct {
	File string
	// Line and Column count from 1; 0 is an unknown position.
	Line, Column int
	Message      string
	Kind         Kind
	// Attribute is the path of the attribute for options in HCL: names, indexes of lists and MapKeys.
	Attribute []any
}

// String returns the problem as compilers write it: file:line:column: message.
func (p Problem) String() string {
	var text strings.Builder
	if p.File != "" {
		text.WriteString(p.File + ":")
	}
	if p.Line > 0 {
		fmt.Fprintf(&text, "%d:%d:", p.Line, p.Column)
	}
	if text.Len() > 0 {
		text.WriteByte(' ')
	}
	return text.String() + p.Message
}

// Error contains all problems that make one file unusable.
type Error struct {
	Problems []Problem
}

// Error lists the problems, one on a line.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Only reports whether all problems are of one kind.
func (e *Error) Only(kind Kind) bool {
	return !slices.ContainsFunc(e.Problems, func(p Problem) bool { return p.Kind != kind })
}

func sortProblems(problems []Problem) {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}
