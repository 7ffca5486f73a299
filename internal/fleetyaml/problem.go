package fleetyaml

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Kind says what sort of thing a Problem is, for callers that must choose.
type Kind int

// The kinds of problems.
const (
	// Invalid is a value Fleet does not know, or has no use for.
	Invalid Kind = iota
	// Syntax is text that is not YAML.
	Syntax
	// WrongType is a value of another type than its key has.
	WrongType
	// UnknownKey is a key Fleet does not know.
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
	// Note is no mistake, but worth knowing.
	Note
)

// Problem is one thing that is wrong with a file, and where.
type Problem struct {
	File string
	// Line and Column count from 1; 0 is not known.
	Line, Column int
	Message      string
	Kind         Kind
}

// String is the problem as compilers write it: file:line:column: message.
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

// Error is everything that is wrong with one file.
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

// Only says whether all problems are of one kind.
func (e *Error) Only(kind Kind) bool {
	return !slices.ContainsFunc(e.Problems, func(p Problem) bool { return p.Kind != kind })
}

func sortProblems(problems []Problem) {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}
