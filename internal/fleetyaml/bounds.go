package fleetyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"
)

// Limits of one YAML text. Fleet and Helm store values in a Secret, which can have 1 MiB; so these
// limits are above what can be deployed.
const (
	// MaxSize is how many bytes a text may have.
	MaxSize = 4 << 20
	// maxExpanded is how large a text may be, in bytes, when each alias is replaced by its content.
	// A text of a few lines can expand to terabytes.
	maxExpanded = 16 << 20
	// maxDepth is how many lists and maps may be nested.
	maxDepth = 200
	// nodeSize is the size that counts for a node besides its text.
	nodeSize = 8
)

// Values reads the first document of a text as a map, with the types of the values of a Definition.
// size is the number of bytes when aliases are replaced.
//
// Errors: *Error, without the name of a file.
func Values(data []byte) (values map[string]any, size int, err error) {
	root, size, problem := document(data)
	if problem != nil {
		return nil, 0, &Error{Problems: []Problem{*problem}}
	}
	if problem := notMap(root); problem != nil {
		return nil, 0, &Error{Problems: []Problem{*problem}}
	}
	if err := sigsyaml.Unmarshal(data, &values); err != nil {
		return nil, 0, &Error{Problems: []Problem{decodingProblem(root, err)}}
	}
	return values, size, nil
}

func notMap(document *yaml.Node) *Problem {
	for _, node := range document.Content {
		if node = resolved(node); !isNull(node) && node.Kind != yaml.MappingNode {
			return new(at(node, WrongType, "this must be a map, not %s", describe(node)))
		}
	}
	return nil
}

// document parses the first document of a text, which may be empty.
func document(data []byte) (*yaml.Node, int, *Problem) {
	if problem := tooLong(data); problem != nil {
		return nil, 0, problem
	}
	var root yaml.Node
	if err := yaml.NewDecoder(bytes.NewReader(data)).Decode(&root); err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, new(syntaxProblem(err))
	}
	size, problem := measure(&root)
	return &root, size, problem
}

// CheckAliases returns an error if the aliases in a text of any number of documents make it expand
// to more than can be read. Documents that are not YAML count as 0: they may be templates.
//
// Errors: *Error, without the name of a file.
func CheckAliases(data []byte) error {
	if !mayHaveAliases(data) {
		return nil
	}
	line, total := 0, 0
	for _, document := range documentsOf(data) {
		added, problem := expansion(document)
		if total += added; problem == nil && total > maxExpanded {
			problem = &Problem{Line: 1, Column: 1, Kind: TooLarge, Message: "with the aliases of all documents up to this one" + isTooLarge}
		}
		if problem != nil {
			problem.Line += line
			return &Error{Problems: []Problem{*problem}}
		}
		line += bytes.Count(document, []byte("\n")) + 1
	}
	return nil
}

var separator = regexp.MustCompile(`\n---(\s|$)`)

// documentsOf splits a text into its documents, without reading them.
func documentsOf(data []byte) [][]byte {
	var documents [][]byte
	begin := 0
	for _, at := range separator.FindAllIndex(data, -1) {
		documents = append(documents, data[begin:at[0]])
		begin = at[0] + len("\n---")
	}
	return append(documents, data[begin:])
}

// expansion returns how many bytes aliases add to a document.
func expansion(data []byte) (int, *Problem) {
	if !mayHaveAliases(data) {
		return 0, nil
	}
	if problem := tooLong(data); problem != nil {
		return 0, problem
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	total := 0
	for { // More than one where lines end in a carriage return only.
		var root yaml.Node
		if err := decoder.Decode(&root); err != nil {
			return total, nil // The end, or no YAML.
		}
		m := newMeasurer()
		measured, problem := m.node(&root)
		if total += measured.size - m.plain; problem != nil || total > maxExpanded {
			return total, problem
		}
	}
}

// mayHaveAliases reports whether a text seems to contain an anchor and an alias. It is much faster
// than parsing.
func mayHaveAliases(data []byte) bool {
	wide := bytes.Contains(data, []byte("\xff\xfe")) || bytes.Contains(data, []byte("\xfe\xff")) // Begins UTF-16.
	return wide || (hasMark(data, '&') && hasMark(data, '*'))
}

// beforeValue are bytes that a value can follow; the last three end the other
// line breaks of YAML.
const beforeValue = " \t\r\n[{,:?-\x85\xa8\xa9"

// hasMark reports whether data contains mark where a value can begin, followed by a name.
func hasMark(data []byte, mark byte) bool {
	for rest := data; ; {
		i := bytes.IndexByte(rest, mark)
		if i < 0 || i == len(rest)-1 {
			return false
		}
		begins := i == 0 || strings.IndexByte(beforeValue, rest[i-1]) >= 0
		if begins && isNameByte(rest[i+1]) {
			return true
		}
		rest = rest[i+1:]
	}
}

func isNameByte(b byte) bool {
	return b == '-' || b == '_' || ('0' <= b && b <= '9') || ('a' <= b && b <= 'z') || ('A' <= b && b <= 'Z')
}

func tooLong(data []byte) *Problem {
	if len(data) <= MaxSize {
		return nil
	}
	return &Problem{Kind: TooLarge, Message: fmt.Sprintf("larger than the limit of %d MiB for YAML", MaxSize>>20)}
}

const isTooLarge = " replaced, this is larger than 16 MiB"

// measure returns how large a document is when aliases are replaced. Its time is proportional to
// the text, not to the expanded text.
func measure(root *yaml.Node) (int, *Problem) {
	measured, problem := newMeasurer().node(root)
	return measured.size, problem
}

// extent is how large and how deep something is.
type extent struct{ size, depth int }

type measurer struct {
	// anchors are the measured anchors; an alias is always after its anchor.
	anchors map[*yaml.Node]extent
	// plain is the size of the measured nodes without aliases.
	plain int
}

func newMeasurer() *measurer { return &measurer{anchors: make(map[*yaml.Node]extent)} }

func (m *measurer) node(node *yaml.Node) (extent, *Problem) {
	if node.Kind == yaml.AliasNode {
		known, ok := m.anchors[node.Alias]
		if !ok {
			return extent{}, new(at(node, Syntax, "alias *%s is inside its own anchor", node.Value))
		}
		return known, nil
	}
	measured := extent{size: nodeSize + len(node.Value)}
	m.plain += measured.size
	for _, child := range node.Content {
		below, problem := m.node(child)
		if problem != nil {
			return extent{}, problem
		}
		measured.size += below.size
		measured.depth = max(measured.depth, below.depth+1)
		if measured.size > maxExpanded {
			return extent{}, new(at(child, TooLarge, "with its aliases"+isTooLarge))
		}
	}
	if measured.depth > maxDepth {
		return extent{}, new(at(node, TooLarge, "lists and maps are nested more than %d deep", maxDepth))
	}
	if node.Anchor != "" {
		m.anchors[node] = measured
	}
	return measured, nil
}
