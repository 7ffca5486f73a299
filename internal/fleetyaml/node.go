package fleetyaml

import (
	"strconv"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"
)

// The parser that gives positions reads YAML 1.2. These functions return the type of a node in YAML
// 1.1, which Fleet reads.

func resolved(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode && node.Alias != nil {
		return node.Alias
	}
	return node
}

func isNull(node *yaml.Node) bool {
	return node.Kind == 0 || (node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null")
}

func isMerge(node *yaml.Node) bool {
	return node.Kind == yaml.ScalarNode && node.ShortTag() == "!!merge"
}

func isPlain(node *yaml.Node) bool {
	return node.Kind == yaml.ScalarNode &&
		node.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle|yaml.TaggedStyle) == 0
}

// tag returns the type of a scalar: !!bool, !!int, !!float, !!str and so on.
func tag(node *yaml.Node) string {
	if isPlain(node) && boolText(node.Value) != "" {
		return "!!bool"
	}
	return node.ShortTag()
}

// boolText returns "true" or "false" for all ways to write a boolean, else "".
func boolText(value string) string {
	switch value {
	case "y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON":
		return "true"
	case "n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF":
		return "false"
	}
	return ""
}

// keyText returns a key as Fleet decodes it: n, 0x10 and 1.0 are not text.
func keyText(key *yaml.Node) string {
	if !isPlain(key) {
		return key.Value
	}
	if text := boolText(key.Value); text != "" {
		return text
	}
	if key.ShortTag() != "!!int" && key.ShortTag() != "!!float" {
		return key.Value
	}
	const exact = 1_000_000 // From here on, numbers are written as 1e+06.
	if number, err := strconv.Atoi(key.Value); err == nil && number > -exact && number < exact && strconv.Itoa(number) == key.Value {
		return key.Value
	}
	var number any
	if err := sigsyaml.Unmarshal([]byte(key.Value), &number); err != nil {
		return key.Value
	}
	if float, ok := number.(float64); ok {
		return strconv.FormatFloat(float, 'g', -1, 64)
	}
	return key.Value
}

// maxZeroDepth limits how deep maps are nested for isZero.
const maxZeroDepth = 20

// isZero reports whether node sets nothing: "", false, 0, an empty list, or a map of such values.
func isZero(node *yaml.Node, depth int) bool {
	node = resolved(node)
	if depth > maxZeroDepth {
		return false
	}
	if node.Kind == yaml.SequenceNode {
		return len(node.Content) == 0
	}
	if node.Kind == yaml.MappingNode {
		for i := 1; i < len(node.Content); i += 2 {
			if !isZero(node.Content[i], depth+1) {
				return false
			}
		}
		return true
	}
	return isNull(node) || isZeroScalar(node)
}

func isZeroScalar(node *yaml.Node) bool {
	switch tag(node) {
	case "!!bool":
		return boolText(node.Value) == "false"
	case "!!int", "!!float":
		number, err := strconv.ParseFloat(node.Value, 64)
		return err == nil && number == 0
	}
	return node.Value == ""
}

// describe returns the type of a node in words for a user. It does not show the value, which may be
// a secret.
func describe(node *yaml.Node) string {
	if node.Kind == yaml.MappingNode {
		return "a map"
	}
	if node.Kind == yaml.SequenceNode {
		return "a list"
	}
	switch tag(node) {
	case "!!bool":
		return "a boolean"
	case "!!int":
		return "a number"
	case "!!float":
		return "a fraction"
	}
	return "text"
}
