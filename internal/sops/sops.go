// Package sops decrypts YAML and JSON that was encrypted by SOPS (https://github.com/getsops/sops).
//
// It uses only the age identities and OpenPGP private keys in Keys. The author of a file also
// writes its metadata. So no instruction in the metadata is followed: no key service is called, no
// program is run, and no file or environment variable is read. SOPS' own Go packages are not used.
// Importing any of them links the clients of all clouds. It also reads /etc/sops/audit.yaml when
// the process starts, and this file can name a database to write to.
package sops

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	// metadataKey is the key of the metadata in each document.
	metadataKey = "sops"
	// marker begins an encrypted value.
	marker = "ENC[AES256_GCM,"

	// maxSize is the maximum size of an encrypted file in bytes.
	maxSize = 4 << 20
	// maxDocuments is the maximum number of documents in a file.
	maxDocuments = 1000
	// maxDepth is the maximum depth of nested lists and maps.
	maxDepth = 200
	// indent is the indentation that SOPS writes.
	indent = 4
)

// Opened is a decrypted file.
type Opened struct {
	// Plain is the file without metadata and comments.
	Plain []byte
	// Leaves maps each encrypted text in the file to its decrypted value: a string, a bool, a
	// float64, or a Comment.
	Leaves map[string]any
	// Texts are the decrypted values as text. Booleans are left out, and so are the kind, API
	// version, name and namespace of an object.
	Texts []string
}

// Comment represents an encrypted item of a list that is a comment.
type Comment struct{}

// Marked reports whether a text is, or contains, a value as SOPS encrypts it.
func Marked(text string) bool { return strings.Contains(text, marker) }

// Encrypted reports whether a file is YAML or JSON that SOPS has encrypted: one of its
// documents has SOPS' metadata.
func Encrypted(content []byte) bool {
	if !bytes.Contains(content, []byte(metadataKey)) ||
		!bytes.Contains(content, []byte("lastmodified")) && !bytes.Contains(content, []byte(marker)) {
		return false
	}
	if len(content) > maxSize {
		return true // Open refuses the file because of its size.
	}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for {
		var document yaml.Node
		if err := decoder.Decode(&document); err != nil {
			return false
		}
		if hasMetadata(&document) {
			return true
		}
	}
}

var (
	dotenvMetadata = regexp.MustCompile(`(?m)^sops_(mac|lastmodified)=`)
	iniMetadata    = regexp.MustCompile(`(?ms)^\[sops\]\s*$.*^(mac|lastmodified)\s*=`)
)

// EncryptedLines reports whether a file is a dotenv or an INI file that SOPS has encrypted.
// Open decrypts neither.
func EncryptedLines(content []byte) bool {
	return dotenvMetadata.Match(content) || iniMetadata.Match(content)
}

func hasMetadata(document *yaml.Node) bool {
	root := rootOf(document)
	found := field(root, metadataKey)
	if found == nil || found.Kind != yaml.MappingNode {
		return false
	}
	if kind, version := field(root, "kind"), field(root, "apiVersion"); kind != nil && version != nil &&
		kind.Value == "SopsSecret" && strings.HasPrefix(version.Value, "isindir.github.com/") {
		// An operator decrypts it in the cluster (https://github.com/isindir/sops-secrets-operator).
		return false
	}
	mac := field(found, "mac")
	return field(found, "lastmodified") != nil || mac != nil && Marked(mac.Value)
}

// rootOf returns the top node of a document, nil for an empty one.
func rootOf(document *yaml.Node) *yaml.Node {
	if document.Kind != yaml.DocumentNode || len(document.Content) == 0 {
		return nil
	}
	return document.Content[0]
}

// field returns the value of a key of a map, nil if it has none.
func field(node *yaml.Node, key string) *yaml.Node {
	if node == nil || node.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return node.Content[i+1]
		}
	}
	return nil
}

// Open decrypts a file.
//
// Errors: *NoKeyError, *UnknownKeysError, *DamagedError and *TooLargeError. None contains a
// value.
func (d *Decrypter) Open(content []byte) (*Opened, error) {
	if d.unknown {
		return nil, &UnknownKeysError{}
	}
	documents, err := parse(content)
	if err != nil {
		return nil, err
	}
	meta, err := takeMetadata(documents)
	if err != nil {
		return nil, err
	}
	key, err := d.dataKey(meta)
	if err != nil {
		return nil, err
	}
	w, err := newWalker(meta, key)
	if err != nil {
		return nil, err
	}
	for _, document := range documents {
		if err := w.document(document); err != nil {
			return nil, err
		}
	}
	if err := w.verify(meta); err != nil {
		return nil, err
	}
	plain, err := write(documents, isJSON(content))
	if err != nil {
		return nil, err
	}
	return &Opened{Plain: plain, Leaves: w.leaves, Texts: w.texts}, nil
}

// parse reads all documents. Aliases are refused: SOPS writes none.
func parse(content []byte) ([]*yaml.Node, error) {
	if len(content) > maxSize {
		return nil, &TooLargeError{What: fmt.Sprintf("larger than %d MiB", maxSize>>20)}
	}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	var documents []*yaml.Node
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			// The parser's error can quote the file.
			return nil, &DamagedError{Reason: "it is neither YAML nor JSON"}
		}
		if len(documents) == maxDocuments {
			return nil, &TooLargeError{What: fmt.Sprintf("more than %d documents", maxDocuments)}
		}
		if err := check(&document, 0); err != nil {
			return nil, err
		}
		documents = append(documents, &document)
	}
}

// check refuses nodes that SOPS does not write, and removes comments.
func check(node *yaml.Node, depth int) error {
	switch {
	case depth > maxDepth:
		return &TooLargeError{What: fmt.Sprintf("lists and maps nested more than %d deep", maxDepth)}
	case node.Kind == yaml.AliasNode || node.Anchor != "":
		return &DamagedError{Line: node.Line, Reason: "an encrypted file has no anchors and aliases"}
	}
	node.HeadComment = ""
	node.LineComment = ""
	node.FootComment = ""
	for _, child := range node.Content {
		if err := check(child, depth+1); err != nil {
			return err
		}
	}
	if node.Kind == yaml.MappingNode {
		return checkKeys(node)
	}
	return nil
}

func checkKeys(node *yaml.Node) error {
	known := make(map[string]bool, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		switch {
		case key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str":
			return &DamagedError{Line: key.Line, Reason: "a key is not text"}
		case known[key.Value]:
			return &DamagedError{Line: key.Line, Reason: "a map has the same key twice"}
		}
		known[key.Value] = true
	}
	return nil
}

// takeMetadata removes the metadata from all documents. It returns the metadata of the first
// document; only those are used.
func takeMetadata(documents []*yaml.Node) (metadata, error) {
	var first *yaml.Node
	for i, document := range documents {
		root := rootOf(document)
		switch {
		case root == nil, root.Kind == yaml.ScalarNode && root.ShortTag() == "!!null":
			continue
		case root.Kind != yaml.MappingNode:
			return metadata{}, &DamagedError{Line: root.Line, Reason: "a document is not a map"}
		}
		found := field(root, metadataKey)
		if i == 0 {
			first = found
		}
		if found == nil {
			continue
		}
		at := slices.Index(root.Content, found)
		root.Content = slices.Delete(root.Content, at-1, at+1)
	}
	if first == nil {
		return metadata{}, &DamagedError{Reason: "its first document has no metadata of sops; encrypt the whole file"}
	}
	return readMetadata(first)
}

// isJSON reports whether a file is written as JSON.
func isJSON(content []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(content), []byte("{")) }

// write writes the decrypted documents in the format of the file.
func write(documents []*yaml.Node, asJSON bool) ([]byte, error) {
	if asJSON && len(documents) == 1 {
		var content any
		err := documents[0].Decode(&content)
		written, failed := json.Marshal(content)
		if errors.Join(err, failed) != nil {
			return nil, &DamagedError{Reason: "the decrypted content cannot be written as JSON"}
		}
		return written, nil
	}
	var written bytes.Buffer
	encoder := yaml.NewEncoder(&written)
	encoder.SetIndent(indent)
	for _, document := range documents {
		if rootOf(document) == nil {
			continue
		}
		if err := encoder.Encode(document); err != nil {
			return nil, &DamagedError{Reason: "the decrypted content cannot be written as YAML"}
		}
	}
	if err := encoder.Close(); err != nil {
		return nil, &DamagedError{Reason: "the decrypted content cannot be written as YAML"}
	}
	return written.Bytes(), nil
}
