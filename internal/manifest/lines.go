package manifest

import (
	"bytes"
	"slices"

	"go.yaml.in/yaml/v3"
)

// lineOf returns the line of a value in the file of an object, 0 if none is found. It finds the
// object by its kind and name, and returns the first value at path that is wrong. path has no list
// indices.
func lineOf(file []byte, object string, path []string, isWrong func(value *yaml.Node) bool) int {
	return firstLine(file, func(node *yaml.Node) int {
		kind, name := nodesAt(node, "kind"), nodesAt(node, "metadata", "name")
		if len(kind) != 1 || len(name) != 1 || kind[0].Value+" "+name[0].Value != object {
			return 0
		}
		return lineOfFirst(nodesAt(node, path...), isWrong)
	})
}

// LineOf returns the line of an object in a file, 0 if the object is not found. It finds the object
// by its kind and its name. For a name that the API server generates, name is its prefix.
func LineOf(file []byte, kind, name string) int {
	return firstLine(file, func(node *yaml.Node) int {
		names := append(nodesAt(node, "metadata", "name"), nodesAt(node, "metadata", "generateName")...)
		if lineOfFirst(names, func(value *yaml.Node) bool { return value.Value == name }) == 0 {
			return 0
		}
		return lineOfFirst(nodesAt(node, "kind"), func(value *yaml.Node) bool { return value.Value == kind })
	})
}

func lineOfFirst(values []*yaml.Node, isMeant func(value *yaml.Node) bool) int {
	if i := slices.IndexFunc(values, isMeant); i >= 0 {
		return values[i].Line
	}
	return 0
}

// firstLine calls in for each object of a file, and for the objects of lists. It returns the first
// line that in finds, 0 if there is none.
func firstLine(file []byte, in func(object *yaml.Node) int) int {
	documents := yaml.NewDecoder(bytes.NewReader(file))
	for {
		var (
			document yaml.Node
			value    any
		)
		// Decoding into a value refuses aliases that contain themselves or expand to a very large
		// value.
		if documents.Decode(&document) != nil || document.Decode(&value) != nil {
			return 0
		}
		if len(document.Content) == 0 {
			continue
		}
		if line := lineIn(document.Content[0], in); line > 0 {
			return line
		}
	}
}

// lineIn searches one object, and the objects of a list.
func lineIn(node *yaml.Node, in func(object *yaml.Node) int) int {
	if line := in(node); line > 0 {
		return line
	}
	for _, item := range nodesAt(node, "items") {
		if item.Kind == yaml.SequenceNode {
			continue
		}
		if line := lineIn(item, in); line > 0 {
			return line
		}
	}
	return 0
}

// nodesAt returns the values at keys, through each item of lists. If the value of the last key is a
// list, the result contains the list and its items.
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

// withItems returns a value and, for a list, its items.
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

// valueOf returns the value of a key in a map, nil if there is none. As in Helm, the last one
// counts.
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

// resolved returns the value that an alias refers to, or the value itself.
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
