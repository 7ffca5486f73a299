package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/image"
)

// MarkedImage is a tag that lines get which are marked with its name.
type MarkedImage struct {
	// TagName is that of the entry of imageScans.
	TagName string `json:"tagName"`
	image.Tag
}

// text returns what stands at a line that is marked with part of the name
// (internal/cmd/controller/imagescan/update/setters.go). ok is false if there is no such part.
func (m MarkedImage) text(part string) (text string, ok bool) {
	switch part {
	case "":
		return m.Reference(), true
	case "tag":
		return m.Tag.Tag, true
	case "name":
		return m.Image, true
	case "digest":
		return m.Pinned(), true
	}
	return "", false
}

// marker is in the comment of a line that gets a tag: # {"$imagescan": "web:tag"}.
const marker = `"$imagescan"`

// markedValue is a value that ends its line, but for a marker.
type markedValue struct {
	line, column int // From 1; the column counts characters.
	value        string
	// name is that of the entry of imageScans, part what of the image is wanted.
	name, part string
}

// setImages returns a file of a source in which marked lines have the tags of images. at is the path
// of the file. Files with other names than YAML has, and lines whose name is unknown, stay as they
// are.
//
// Errors: *fleetyaml.Error, and one without a type for a file that cannot be parsed.
func setImages(at string, content []byte, images []MarkedImage) ([]byte, []fleetyaml.Problem, error) {
	if len(images) == 0 || !isYAMLFile(at) || !bytes.Contains(content, []byte(marker)) {
		return content, nil, nil
	}
	values, err := markedValues(content)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", at, err)
	}
	known := make(map[string]MarkedImage, len(images))
	for _, found := range images {
		known[found.TagName] = found
	}
	lines := linesOf(string(content))
	var notes []fleetyaml.Problem
	for _, marked := range values {
		found, ok := known[marked.name]
		if !ok {
			notes = append(notes, fleetyaml.Problem{
				File: at, Line: marked.line, Column: marked.column, Kind: fleetyaml.Note,
				Message: fmt.Sprintf("this line is marked with %q, and no entry of imageScans that counts has this tagName, so it stays as it is", marked.name),
			})
			continue
		}
		text, ok := found.text(marked.part)
		if !ok {
			return nil, nil, marked.problem(at, "the marker ends with %q, and only :tag, :name and :digest are known", ":"+marked.part)
		}
		if marked.line > len(lines) {
			return nil, nil, marked.problem(at, "the line breaks of this file are mixed in a way that hides where the marker is")
		}
		line, ok := marked.in(lines[marked.line-1], text)
		if !ok {
			return nil, nil, marked.problem(at, "a marker must follow a value in one line, which has neither an anchor nor brackets")
		}
		lines[marked.line-1] = line
	}
	return []byte(strings.Join(lines, "")), notes, nil
}

// lineBreak are the line breaks that YAML counts.
var lineBreak = regexp.MustCompile("\r\n|[\n\r\u0085\u2028\u2029]")

// linesOf returns the lines of a text with their breaks.
func linesOf(text string) []string {
	var lines []string
	begin := 0
	for _, at := range lineBreak.FindAllStringIndex(text, -1) {
		lines = append(lines, text[begin:at[1]])
		begin = at[1]
	}
	return append(lines, text[begin:])
}

func (m markedValue) problem(at, format string, args ...any) error {
	return &fleetyaml.Error{Problems: []fleetyaml.Problem{{File: at, Line: m.line, Column: m.column, Kind: fleetyaml.Invalid, Message: fmt.Sprintf(format, args...)}}}
}

func isYAMLFile(name string) bool {
	extension := path.Ext(name)
	return extension == ".yaml" || extension == ".yml"
}

// markedValues returns the marked values of all documents.
func markedValues(content []byte) ([]markedValue, error) {
	if len(content) > fleetyaml.MaxSize {
		return nil, fmt.Errorf("a line has the marker of an image scan, and the file is larger than the limit of %d MiB for YAML", fleetyaml.MaxSize>>20)
	}
	var values []markedValue
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return values, nil
		}
		if err != nil {
			return nil, fmt.Errorf("a line has the marker of an image scan, and the file is not YAML: %w", err)
		}
		values = appendMarked(values, &document)
	}
}

// appendMarked goes through a document. An alias leads to what is visited anyway.
func appendMarked(values []markedValue, node *yaml.Node) []markedValue {
	if node.Kind == yaml.ScalarNode {
		if mark, ok := markerOf(node.LineComment); ok {
			name, part, _ := strings.Cut(mark, ":")
			values = append(values, markedValue{line: node.Line, column: node.Column, value: node.Value, name: name, part: part})
		}
	}
	for _, child := range node.Content {
		values = appendMarked(values, child)
	}
	return values
}

func markerOf(comment string) (name string, ok bool) {
	var marks map[string]any
	if err := json.Unmarshal([]byte(strings.TrimLeft(comment, "# \t")), &marks); err != nil {
		return "", false
	}
	name, ok = marks["$imagescan"].(string)
	return name, ok
}

var endOfValue = regexp.MustCompile(`\s+#\s*\{\s*"\$imagescan"`)

// in writes text in place of the value in its line. ok is false if something else stands there.
func (m markedValue) in(line, text string) (changed string, ok bool) {
	characters := []rune(line)
	if m.column < 1 || m.column > len(characters) {
		return "", false
	}
	before, rest := string(characters[:m.column-1]), string(characters[m.column-1:])
	end := endOfValue.FindStringIndex(rest)
	if end == nil || !isScalar(rest[:end[0]], m.value) {
		return "", false
	}
	quote := ""
	switch begin := rest[0]; {
	case begin == '"' || begin == '\'':
		quote = string(begin)
	case m.part == "tag":
		quote = `"` // A tag such as 1.10 is a number without.
	}
	return before + quote + text + quote + rest[end[0]:], true
}

// isScalar reports whether source is a scalar without anchor and tag that has this value.
func isScalar(source, value string) bool {
	var document yaml.Node
	if yaml.Unmarshal([]byte(source), &document) != nil || len(document.Content) != 1 {
		return false
	}
	node := document.Content[0]
	return node.Kind == yaml.ScalarNode && node.Anchor == "" && node.Style&yaml.TaggedStyle == 0 && node.Value == value
}
