package fleetyaml

import (
	"slices"

	"go.yaml.in/yaml/v3"
)

// maxProblems is how many are reported for one file.
const maxProblems = 100

// report collects what is found in one file.
type report struct {
	// wrong makes the file unusable, notes are worth a warning.
	wrong, notes []Problem
}

func (r *report) fail(node *yaml.Node, kind Kind, format string, args ...any) {
	r.wrong = appendProblem(r.wrong, node, kind, format, args...)
}

func (r *report) note(node *yaml.Node, kind Kind, format string, args ...any) {
	r.notes = appendProblem(r.notes, node, kind, format, args...)
}

func appendProblem(problems []Problem, node *yaml.Node, kind Kind, format string, args ...any) []Problem {
	switch len(problems) {
	case maxProblems + 1:
		return problems
	case maxProblems:
		return append(problems, at(node, kind, "there are more problems; only %d are reported for each file", maxProblems))
	}
	return append(problems, at(node, kind, format, args...))
}

// mistyped says whether decoding has lost something, so that what was decoded
// is not worth looking at.
func (r *report) mistyped() bool {
	return slices.ContainsFunc(r.wrong, func(p Problem) bool { return p.Kind == WrongType || p.Kind == DuplicateKey })
}

// isFull reports whether more problems of one kind are dropped, so that searching for the words
// of another one is in vain.
func (r *report) isFull() bool { return len(r.wrong) > maxProblems || len(r.notes) > maxProblems }
