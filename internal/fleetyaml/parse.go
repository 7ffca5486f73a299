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

// Parse reads one fleet.yaml; file is what problems call it. The problems it
// returns are worth a warning; everything that is wrong is in an *Error. With
// strict, keys that Fleet does not know are wrong, else they are warnings.
//
// Values are read as Fleet reads them (internal/bundlereader/read.go): YAML 1.1,
// where yes, no, on, off, y and n are booleans, as keys too, and every number is
// a float64. Other than in Fleet, keys are exact, unique and in one document.
func Parse(file string, data []byte, strict bool) (Definition, []Problem, error) {
	return Parser{Strict: strict}.Parse(file, data)
}

// Parser reads fleet.yaml files.
type Parser struct {
	// Strict makes keys that Fleet does not know wrong, else they are warnings.
	Strict bool
	// ImageScans says that something scans images, else imageScans are wrong.
	ImageScans bool
}

// Parse is the function Parse with the settings of the Parser.
func (p Parser) Parse(file string, data []byte) (Definition, []Problem, error) {
	return p.parse(file, data, newFieldTypes(false))
}

// ParseHCL reads the options of a bundle that were written in HCL. They can have fields that
// Fleet lacks. Problems name no line, as nobody wrote the text.
func ParseHCL(data []byte) (Definition, []Problem, error) {
	def, notes, err := Parser{Strict: true}.parse("", data, newFieldTypes(true))
	if invalid, ok := errors.AsType[*Error](err); ok {
		err = &Error{Problems: withoutLines(invalid.Problems)}
	}
	return def, withoutLines(notes), err
}

// withoutLines drops positions in a text that nobody wrote.
func withoutLines(problems []Problem) []Problem {
	if len(problems) == 0 {
		return nil
	}
	stripped := make([]Problem, len(problems))
	for i, p := range problems {
		stripped[i] = Problem{Kind: p.Kind, Message: p.Message}
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
	found := &report{}
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

// in names the file in problems and puts them in the order of its lines.
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

// documents gives the content of the only document of data, nil if there is
// none. Empty documents do not count.
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
			return nil, []Problem{at(&document, Invalid, "there is a second document, and Fleet reads only the first; move everything into the first")}
		}
		root = document.Content[0]
		if _, problem := measure(root); problem != nil {
			return nil, []Problem{*problem}
		}
	}
}

var syntaxLine = regexp.MustCompile(`^line (\d+): `)

// syntaxProblem finds the line in the text of err, the only place where the
// parser tells it, and tells it from 0 when it is the grammar that is broken:
// there it is where the broken list or map begins.
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

// decodingProblem places an error that only decoding has found.
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

// lookup goes down from node along keys (string) and indices (int), as far as
// there is something.
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
