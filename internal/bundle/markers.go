package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/image"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/sops"
)

// MarkedImage is the tag for lines that are marked with its name.
type MarkedImage struct {
	// TagName is the tagName of the entry of imageScans.
	TagName string `json:"tagName"`
	image.Tag
}

// text returns the text for a line whose marker names a part of the image
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

// maxImageNotes is how many notes are made about the marked lines of one source.
const maxImageNotes = 100

// byteOrderMark may be at the start of a file. YAML does not count it as a column.
const byteOrderMark = "\uFEFF"

// setImages returns the content of a file with the tags of the images in its marked lines. at is
// the path of the file. A file without a YAML extension stays as it is. So does a line whose name
// is unknown or whose marker does not follow a value.
//
// Errors: *fleetyaml.Error, *EncryptedFileError, and one without a type for a file that cannot be
// parsed.
func (r *reading) setImages(at string, content []byte) ([]byte, error) {
	if !r.imageScans || !isYAMLFile(at) || !bytes.Contains(content, []byte(marker)) {
		return content, nil
	}
	if sops.Encrypted(content) {
		return nil, &EncryptedFileError{File: at, Err: errMarkerEncrypted}
	}
	text, hasMark := strings.CutPrefix(string(content), byteOrderMark)
	file, err := parseMarked(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	r.noteMarkers(at, file)
	changed, err := file.set(at, r.images)
	if err != nil {
		return nil, err
	}
	if hasMark {
		changed = byteOrderMark + changed
	}
	return []byte(changed), nil
}

var errMarkerEncrypted = errors.New("a line has the marker of an image scan, and sops does not allow changes of the file; " +
	"put the line into a file that is not encrypted")

// noteMarkers notes markers that have no effect.
func (r *reading) noteMarkers(at string, file markedFile) {
	noted := map[string]bool{}
	note := func(name string, line int, format string, args ...any) {
		if noted[name] || len(r.imageNotes) >= maxImageNotes {
			return
		}
		noted[name] = true
		r.imageNotes = append(r.imageNotes, fleetyaml.Problem{
			File: at, Line: line,
			Column: 1, Kind: fleetyaml.Note, Message: fmt.Sprintf(format, args...),
		})
	}
	follows := map[int]bool{}
	for _, marked := range file.values {
		follows[marked.line] = true
		if !slices.ContainsFunc(r.images, func(m MarkedImage) bool { return m.TagName == marked.name }) {
			note(marked.name, marked.line, "this line is marked with %q, and no entry of imageScans that counts has this tagName, so "+
				"it stays as it is", marked.name)
		}
	}
	for i, line := range file.lines {
		if strings.Contains(line, marker) && !follows[i+1] && !strings.HasPrefix(strings.TrimSpace(line), "#") {
			note(marker, i+1, "the marker of an image scan in this line has no effect: it does not follow a value in the same line")
		}
	}
}

func isYAMLFile(name string) bool {
	extension := path.Ext(name)
	return extension == ".yaml" || extension == ".yml"
}

// markedFile is a text with lines that are marked.
type markedFile struct {
	lines     []string // With their line breaks.
	documents []*yaml.Node
	values    []markedValue
}

// markedValue is a value with only a marker after it in its line.
type markedValue struct {
	node         *yaml.Node
	line, column int // From 1; the column counts characters.
	// name is the tagName of the entry of imageScans, part the requested part of the image.
	name, part string
}

// parseMarked reads all documents of a text.
func parseMarked(text string) (markedFile, error) {
	if len(text) > fleetyaml.MaxSize {
		return markedFile{}, fmt.Errorf("a line has the marker of an image scan, and the file is larger than the limit of %d MiB for YAML",
			fleetyaml.MaxSize>>20)
	}
	file := markedFile{lines: linesOf(text)}
	decoder := yaml.NewDecoder(strings.NewReader(text))
	for {
		document := &yaml.Node{}
		err := decoder.Decode(document)
		if errors.Is(err, io.EOF) {
			return file, nil
		}
		if err != nil {
			return markedFile{}, fmt.Errorf("a line has the marker of an image scan, and the file is not YAML: %w", err)
		}
		file.documents = append(file.documents, document)
		file.values = appendMarked(file.values, document)
	}
}

// appendMarked appends the marked values of a document. Aliases are not followed, because their
// targets are visited anyway. Keys are not values.
func appendMarked(values []markedValue, node *yaml.Node) []markedValue {
	if node.Kind == yaml.ScalarNode {
		if mark, ok := markerOf(node.LineComment); ok {
			name, part, _ := strings.Cut(mark, ":")
			values = append(values, markedValue{node: node, line: node.Line, column: node.Column, name: name, part: part})
		}
	}
	for i, child := range node.Content {
		if isKey := node.Kind == yaml.MappingNode && i%2 == 0; !isKey {
			values = appendMarked(values, child)
		}
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

// lineBreak matches the line breaks of YAML.
var lineBreak = regexp.MustCompile("\r\n|[\n\r\u0085\u2028\u2029]")

// linesOf returns the lines of a text with their line breaks.
func linesOf(text string) []string {
	var lines []string
	begin := 0
	for _, at := range lineBreak.FindAllStringIndex(text, -1) {
		lines = append(lines, text[begin:at[1]])
		begin = at[1]
	}
	return append(lines, text[begin:])
}

// set returns the text with the tags of images. The new text must be equal YAML, except for the
// values that are set.
func (f markedFile) set(at string, images []MarkedImage) (string, error) {
	lines := slices.Clone(f.lines)
	var first *markedValue
	for i, marked := range f.values {
		of := slices.IndexFunc(images, func(m MarkedImage) bool { return m.TagName == marked.name })
		if of < 0 {
			continue
		}
		text, ok := images[of].text(marked.part)
		if !ok {
			return "", marked.problem(at, "the marker ends with %q, and only :tag, :name and :digest are known", ":"+marked.part)
		}
		if marked.line > len(lines) {
			return "", marked.misplaced(at)
		}
		if lines[marked.line-1], ok = marked.in(lines[marked.line-1], text); !ok {
			return "", marked.misplaced(at)
		}
		marked.node.Value = text
		if first == nil {
			first = &f.values[i]
		}
	}
	changed := strings.Join(lines, "")
	if first == nil {
		return changed, nil
	}
	after, err := parseMarked(changed)
	if err != nil || !slices.EqualFunc(f.documents, after.documents, sameNode) {
		return "", first.misplaced(at)
	}
	return changed, nil
}

// sameNode reports whether two nodes have the same content.
func sameNode(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.Value == b.Value && a.Anchor == b.Anchor && slices.EqualFunc(a.Content, b.Content, sameNode)
}

func (m markedValue) problem(at, format string, args ...any) error {
	return &fleetyaml.Error{Problems: []fleetyaml.Problem{{
		File: at, Line: m.line,
		Column: m.column, Kind: fleetyaml.Invalid, Message: fmt.Sprintf(format, args...),
	}}}
}

func (m markedValue) misplaced(at string) error {
	return m.problem(at, "a marker must follow a value in one line, which has neither an anchor nor brackets")
}

var (
	endOfValue = regexp.MustCompile(`\s+#\s*\{\s*"\$imagescan"`)
	// plainText matches text that needs no quotes in YAML.
	plainText = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:@-]*/[A-Za-z0-9._:@/-]*$`)
)

// in replaces the value in its line with text. ok is false if the value is not in that line.
func (m markedValue) in(line, text string) (changed string, ok bool) {
	characters := []rune(line)
	if m.column < 1 || m.column > len(characters) {
		return "", false
	}
	before, rest := string(characters[:m.column-1]), string(characters[m.column-1:])
	end := endOfValue.FindStringIndex(rest)
	if end == nil {
		return "", false
	}
	quote := ""
	switch begin := rest[0]; {
	case begin == '"' || begin == '\'':
		quote = string(begin)
	case m.part == "tag" || !plainText.MatchString(text):
		quote = `"` // Without quotes, a tag such as 1.10 is a number.
	}
	return before + quote + text + quote + rest[end[0]:], true
}
