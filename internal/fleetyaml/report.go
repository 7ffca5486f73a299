package fleetyaml

import (
	"slices"

	"go.yaml.in/yaml/v3"
)

// maxProblems is how many are reported for one file.
const maxProblems = 100

// report collects the problems of one file.
type report struct {
	// wrong are the problems that make the file unusable; notes are warnings.
	wrong, notes []Problem
	// spelling is that of all problems. For HCL, root and fields give the paths of attributes.
	spelling Spelling
	root     *yaml.Node
	fields   *fieldTypes
}

func (r *report) fail(node *yaml.Node, kind Kind, format string, args ...any) {
	r.wrong = r.append(r.wrong, node, kind, format, args...)
}

func (r *report) note(node *yaml.Node, kind Kind, format string, args ...any) {
	r.notes = r.append(r.notes, node, kind, format, args...)
}

func (r *report) append(problems []Problem, node *yaml.Node, kind Kind, format string, args ...any) []Problem {
	switch len(problems) {
	case maxProblems + 1:
		return problems
	case maxProblems:
		return append(problems, at(node, kind, "there are more problems; only %d are reported for each file", maxProblems))
	}
	problem := at(node, kind, format, r.spelling.arguments(args)...)
	if r.spelling == AsHCL {
		problem.Attribute = r.fields.attributePath(r.root, node)
	}
	return append(problems, problem)
}

// mistyped reports whether decoding has lost something, so that the decoded definition is not worth
// checking.
func (r *report) mistyped() bool {
	return slices.ContainsFunc(r.wrong, func(p Problem) bool { return p.Kind == WrongType || p.Kind == DuplicateKey })
}

// isFull reports whether further problems of one kind are dropped. Their messages then need no
// search for a suggestion.
func (r *report) isFull() bool { return len(r.wrong) > maxProblems || len(r.notes) > maxProblems }
