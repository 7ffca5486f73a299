package fleetyaml

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Parse reads one fleet.yaml; file is its name in problems. The returned problems are warnings; all
// errors are in an *Error. With strict, keys that are unknown to Fleet are errors, else they are
// warnings.
//
// Values are read as Fleet reads them (internal/bundlereader/read.go): in YAML 1.1, yes, no, on,
// off, y and n are booleans, as keys too. Every number is a float64. Unlike in Fleet, keys must be
// exact and unique, and there can be only one document.
func Parse(file string, data []byte, strict bool) (Definition, []Problem, error) {
	return Parser{Strict: strict}.Parse(file, data)
}

// Parser reads fleet.yaml files.
type Parser struct {
	// Strict makes keys that are unknown to Fleet errors, else they are warnings.
	Strict bool
	// ImageScans is set if something scans images, else imageScans are errors.
	ImageScans bool
}

// Parse is the function Parse with the settings of the Parser.
func (p Parser) Parse(file string, data []byte) (Definition, []Problem, error) {
	return p.parse(file, data, newFieldTypes(false))
}

// ParseHCL reads the options of a bundle that were written in HCL. They can have fields that Fleet
// lacks. Problems name no line, because the user has not written the JSON text.
func ParseHCL(data []byte) (Definition, []Problem, error) {
	def, notes, err := Parser{Strict: true}.parse("", data, newFieldTypes(true))
	if invalid, ok := errors.AsType[*Error](err); ok {
		err = &Error{Problems: withoutLines(invalid.Problems)}
	}
	return def, withoutLines(notes), err
}

// withoutLines removes the positions in a text that no user wrote.
func withoutLines(problems []Problem) []Problem {
	if len(problems) == 0 {
		return nil
	}
	stripped := make([]Problem, len(problems))
	for i, p := range problems {
		stripped[i] = Problem{Kind: p.Kind, Message: p.Message, Attribute: p.Attribute}
	}
	return stripped
}

func (p Parser) parse(file string, data []byte, fields *fieldTypes) (Definition, []Problem, error) {
	root, problems := documents(data)
	if len(problems) > 0 {
		return Definition{}, nil, errorIn(file, problems)
	}
	if root == nil {
		return Definition{}, nil, nil
	}
	found := &report{root: root, fields: fields}
	if fields.inHCL {
		found.spelling = AsHCL
	}
	newChecker(p.Strict, found, fields).definition(root)

	def, err := fields.decode(data)
	if err != nil && len(found.wrong) == 0 {
		found.wrong = append(found.wrong, decodingProblem(root, err))
	}
	if !found.mistyped() {
		validator{report: found, imageScans: p.ImageScans}.definition(root, def)
	}
	if len(found.wrong) == 0 {
		return def, in(file, found.notes), nil
	}
	return Definition{}, in(file, found.notes), errorIn(file, found.wrong)
}

// in sets the file of problems, and sorts them by line.
func in(file string, problems []Problem) []Problem {
	for i := range problems {
		problems[i].File = file
	}
	sortProblems(problems)
	return problems
}

func errorIn(file string, problems []Problem) *Error {
	return &Error{Problems: in(file, problems)}
}

// documents returns the content of the only document of data, nil if there is none. Empty documents
// do not count.
func documents(data []byte) (*yaml.Node, []Problem) {
	if problem := tooLong(data); problem != nil {
		return nil, []Problem{*problem}
	}
	var root *yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return root, nil
		}
		if err != nil {
			return nil, []Problem{syntaxProblem(err)}
		}
		if len(document.Content) == 0 || isNull(document.Content[0]) {
			continue
		}
		if root != nil {
			return nil, []Problem{at(&document, Invalid,
				"there is a second document, and Fleet reads only the first; move everything into the first")}
		}
		root = document.Content[0]
		if _, problem := measure(root); problem != nil {
			return nil, []Problem{*problem}
		}
	}
}

var syntaxLine = regexp.MustCompile(`^line (\d+): `)

// syntaxProblem reads the line from the text of err, the only place where the parser reports it.
// For errors of the grammar, the parser counts lines from 0, and its line is where the broken list
// or map begins.
func syntaxProblem(err error) Problem {
	grammar := []string{
		"did not find expected <document start>", "did not find expected node content", "did not find expected key",
		"did not find expected '-' indicator", "did not find expected ',' or ']'", "did not find expected ',' or '}'",
	}
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	found := syntaxLine.FindStringSubmatch(text)
	if found == nil {
		return Problem{Line: 1, Column: 1, Kind: Syntax, Message: text}
	}
	line, _ := strconv.Atoi(found[1])
	text = strings.TrimPrefix(text, found[0])
	if slices.Contains(grammar, text) {
		line++
	}
	return Problem{Line: line, Column: 1, Kind: Syntax, Message: text}
}

// decodingProblem adds the position to an error that only decoding has found.
func decodingProblem(root *yaml.Node, err error) Problem {
	node := root
	if mistyped, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		for key := range strings.SplitSeq(mistyped.Field, ".") {
			node = lookup(node, key)
		}
	}
	for cause := errors.Unwrap(err); cause != nil; cause = errors.Unwrap(err) {
		err = cause
	}
	return at(node, WrongType, "%v", err)
}

func at(node *yaml.Node, kind Kind, format string, args ...any) Problem {
	return Problem{Line: node.Line, Column: node.Column, Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// lookup follows keys (string) and indices (int) down from node, and returns the deepest node that
// exists.
func lookup(node *yaml.Node, steps ...any) *yaml.Node {
	for _, step := range steps {
		next := child(resolved(node), step)
		if next == nil {
			return node
		}
		node = next
	}
	return node
}

func child(node *yaml.Node, step any) *yaml.Node {
	switch step := step.(type) {
	case int:
		if node.Kind == yaml.SequenceNode && step < len(node.Content) {
			return node.Content[step]
		}
	case string:
		if node.Kind != yaml.MappingNode {
			return nil
		}
		for i := 0; i+1 < len(node.Content); i += 2 {
			if strings.EqualFold(node.Content[i].Value, step) {
				return node.Content[i+1]
			}
		}
	}
	return nil
}
