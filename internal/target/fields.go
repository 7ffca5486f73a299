package target

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// fieldRead is an action that only reads a field of the cluster. It matches only actions that
// text/template certainly reads in the same way: no trim markers, comments, pipes or escapes.
var fieldRead = regexp.MustCompile(`^[ \t\r\n]*(?:` +
	`((?:\.[A-Za-z_][A-Za-z0-9_]*)+)|` + // A path.
	`index[ \t\r\n]+((?:\.[A-Za-z_][A-Za-z0-9_]*)+)[ \t\r\n]+"([A-Za-z0-9_./-]*)"` + // A path and a key.
	`)[ \t\r\n]*\}`)

// segment is a literal text, and the field that follows it.
type segment struct {
	literal string
	path    []string // Nil at the end of the text.
}

// parseFieldReads returns nil unless every action of the text is a fieldRead.
func parseFieldReads(text string) []segment {
	var segments []segment
	for {
		literal, rest, found := strings.Cut(text, LeftDelim)
		if !found {
			return append(segments, segment{literal: literal})
		}
		match := fieldRead.FindStringSubmatch(rest)
		if match == nil {
			return nil
		}
		segments = append(segments, segment{literal: literal, path: pathOf(match)})
		text = rest[len(match[0]):]
	}
}

func pathOf(match []string) []string {
	path := match[1]
	indexed := match[2]
	key := match[3]
	if indexed == "" {
		return strings.Split(path[1:], ".")
	}
	return append(strings.Split(indexed[1:], "."), key)
}

// readFields returns the text with its actions replaced by fields of the context. ok is false if a
// field is missing, or has a type whose text is not certain.
func readFields(segments []segment, context map[string]any) (text string, ok bool) {
	var b strings.Builder
	for _, s := range segments {
		b.WriteString(s.literal)
		if s.path == nil {
			continue
		}
		field, ok := readField(s.path, context)
		if !ok {
			return "", false
		}
		b.WriteString(field)
	}
	return b.String(), true
}

func readField(path []string, context map[string]any) (text string, ok bool) {
	var value any = context
	for _, name := range path {
		fields, ok := value.(map[string]any)
		if !ok {
			return "", false
		}
		if value, ok = fields[name]; !ok {
			return "", false
		}
	}
	switch value := value.(type) {
	case string:
		return value, true
	case bool:
		return strconv.FormatBool(value), true
	case int64:
		return strconv.FormatInt(value, 10), true
	case float64: // All numbers of YAML.
		return fmt.Sprint(value), true
	}
	return "", false
}
