package manifest

import (
	"bytes"
	"slices"

	"go.yaml.in/yaml/v3"
)

// lineOf finds a value in the file that an object was read from, by the kind and name of the
// object and the path of the value without places in lists. It is the first one that is wrong, and
// 0 if none is found.
func lineOf(file []byte, object string, path []string, isWrong func(value *yaml.Node) bool) int {
	documents := yaml.NewDecoder(bytes.NewReader(file))
	for {
		var document yaml.Node
		if documents.Decode(&document) != nil {
			return 0
		}
		if len(document.Content) == 0 {
			continue
		}
		if line := lineIn(document.Content[0], object, path, isWrong); line > 0 {
			return line
		}
	}
}

// lineIn looks at one object, and at those of a list.
func lineIn(node *yaml.Node, object string, path []string, isWrong func(value *yaml.Node) bool) int {
	kind, name := nodesAt(node, "kind"), nodesAt(node, "metadata", "name")
	if len(kind) == 1 && len(name) == 1 && kind[0].Value+" "+name[0].Value == object {
		found := nodesAt(node, path...)
		if i := slices.IndexFunc(found, isWrong); i >= 0 {
			return found[i].Line
		}
	}
	for _, item := range nodesAt(node, "items") {
		if line := lineIn(item, object, path, isWrong); line > 0 {
			return line
		}
	}
	return 0
}

// nodesAt are the values that keys lead to, through each item of lists. Of the last key it is the
// value, and its items if it is a list.
func nodesAt(node *yaml.Node, keys ...string) []*yaml.Node {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if node.Kind == yaml.SequenceNode {
		var found []*yaml.Node
		if len(keys) == 0 {
			found = append(found, node)
		}
		for _, item := range node.Content {
			found = append(found, nodesAt(item, keys...)...)
		}
		return found
	}
	if len(keys) == 0 {
		return []*yaml.Node{node}
	}
	if node.Kind != yaml.MappingNode {
		return nil
	}
	value := (*yaml.Node)(nil)
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == keys[0] {
			value = node.Content[i+1]
		}
	}
	if value == nil {
		return nil
	}
	return nodesAt(value, keys[1:]...)
}

// isPlain reports whether a value has no quotes.
func isPlain(value *yaml.Node) bool {
	return value.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) == 0
}
