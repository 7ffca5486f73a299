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
	return firstLine(file, func(document *yaml.Node) int { return lineIn(document, object, path, isWrong) })
}

// firstLine is the first line that is found in a document of a file, 0 if none is.
func firstLine(file []byte, in func(document *yaml.Node) int) int {
	documents := yaml.NewDecoder(bytes.NewReader(file))
	for {
		var (
			document yaml.Node
			value    any
		)
		// As a value it is read to refuse aliases that lead back to themselves, or to very much.
		if documents.Decode(&document) != nil || document.Decode(&value) != nil {
			return 0
		}
		if len(document.Content) == 0 {
			continue
		}
		if line := in(document.Content[0]); line > 0 {
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
		if item.Kind == yaml.SequenceNode {
			continue
		}
		if line := lineIn(item, object, path, isWrong); line > 0 {
			return line
		}
	}
	return 0
}

// nodesAt are the values that keys lead to, through each item of lists. Of the last key it is the
// value, and its items if it is a list.
func nodesAt(node *yaml.Node, keys ...string) []*yaml.Node {
	found := []*yaml.Node{node}
	for _, key := range keys {
		var below []*yaml.Node
		for _, one := range found {
			if value := valueOf(one, key); value != nil {
				below = append(below, withItems(value)...)
			}
		}
		found = below
	}
	return found
}

// withItems are a value and, of a list, its items.
func withItems(value *yaml.Node) []*yaml.Node {
	value = resolved(value)
	if value.Kind != yaml.SequenceNode {
		return []*yaml.Node{value}
	}
	all := []*yaml.Node{value}
	for _, item := range value.Content {
		all = append(all, withItems(item)...)
	}
	return all
}

// valueOf is the value of a key in a map, nil if there is none. As in Helm, the last one counts.
func valueOf(node *yaml.Node, key string) (value *yaml.Node) {
	node = resolved(node)
	if node.Kind != yaml.MappingNode {
		return nil
	}
	for pair := range slices.Chunk(node.Content, 2) {
		if len(pair) == 2 && pair[0].Value == key {
			value = pair[1]
		}
	}
	return value
}

// resolved is the value that an alias stands for.
func resolved(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

// isPlain reports whether a value has no quotes.
func isPlain(value *yaml.Node) bool {
	return value.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) == 0
}

// LineOf is the line of an object in a file by its kind and its name, or the beginning of a name
// that the API server completes. It is 0 if the object is not found.
func LineOf(file []byte, kind, name string) int {
	return firstLine(file, func(document *yaml.Node) int { return lineOfObject(document, kind, name) })
}

func lineOfObject(node *yaml.Node, kind, name string) int {
	node = resolved(node)
	names := append(nodesAt(node, "metadata", "name"), nodesAt(node, "metadata", "generateName")...)
	isCalled := slices.ContainsFunc(names, func(value *yaml.Node) bool { return value.Value == name })
	for _, value := range nodesAt(node, "kind") {
		if value.Value == kind && isCalled {
			return value.Line
		}
	}
	for _, item := range nodesAt(node, "items") {
		if item.Kind == yaml.SequenceNode {
			continue
		}
		if line := lineOfObject(item, kind, name); line > 0 {
			return line
		}
	}
	return 0
}
