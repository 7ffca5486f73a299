package sops

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"hash"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// value matches an encrypted value (SOPS' aes/cipher.go).
var value = regexp.MustCompile(`^ENC\[AES256_GCM,data:([A-Za-z0-9+/=]+),iv:([A-Za-z0-9+/=]+),tag:([A-Za-z0-9+/=]+),type:([a-z]+)\]$`)

// onlyEncryptedStart is the start of a MAC that covers only encrypted values (SOPS' sops.go).
const onlyEncryptedStart = "\x8a\x3f\xd2\xad\x54\xce\x66\x52\x7b\x10\x34\xf3\xd1\x47\xbe\x0b\x0b\x97\x5b\x3b\xf4\x4f\x72\xc6\xfd\xad\xec\x81\x76\xf2\x7d\x69"

// maxKeyBytes is the limit for the total size of a file's keys. Each key is matched against the
// rule of the file.
const maxKeyBytes = 256 << 10

// maxNonce is the limit in bytes for the nonce of a value. SOPS writes nonces of 32 bytes.
const maxNonce = 64

// walker decrypts the documents of a file in their order.
type walker struct {
	block         cipher.Block
	rule          rule
	mac           hash.Hash
	onlyEncrypted bool
	leaves        map[string]any
	texts         []string
	// keyBytes is the size of all keys so far.
	keyBytes int
}

func newWalker(m metadata, key []byte) (*walker, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, &DamagedError{Reason: "its data key is not valid"}
	}
	w := &walker{block: block, rule: m.rule, mac: sha512.New(), onlyEncrypted: m.onlyEncrypted, leaves: map[string]any{}}
	if m.onlyEncrypted {
		w.mac.Write([]byte(onlyEncryptedStart))
	}
	return w, nil
}

// keyPath is the place of a value in a document.
type keyPath struct {
	path []string
	// matched is true if a key on the path matches the rule of the file.
	matched bool
}

func (w *walker) below(p keyPath, key string) (keyPath, error) {
	if w.keyBytes += len(key); w.keyBytes > maxKeyBytes {
		return keyPath{}, &TooLargeError{What: fmt.Sprintf("keys of more than %d KiB", maxKeyBytes>>10)}
	}
	return keyPath{path: append(slices.Clip(p.path), key), matched: p.matched || w.rule.matches(key)}, nil
}

func (w *walker) document(document *yaml.Node) error {
	if root := rootOf(document); root != nil {
		_, err := w.node(root, keyPath{})
		return err
	}
	return nil
}

// node decrypts the values below a node. keep is false for an item that is a comment.
func (w *walker) node(node *yaml.Node, p keyPath) (keep bool, err error) {
	switch node.Kind { //nolint:exhaustive // Others were refused.
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			at, err := w.below(p, node.Content[i].Value)
			if err != nil {
				return false, err
			}
			keep, err := w.node(node.Content[i+1], at)
			if err != nil {
				return false, err
			}
			if !keep {
				return false, &DamagedError{Line: node.Content[i].Line, Reason: "a comment replaces a value"}
			}
		}
	case yaml.SequenceNode:
		items := make([]*yaml.Node, 0, len(node.Content))
		for _, item := range node.Content {
			keep, err := w.node(item, p)
			if err != nil {
				return false, err
			}
			if keep {
				items = append(items, item)
			}
		}
		node.Content = items
	case yaml.ScalarNode:
		return w.scalar(node, p)
	}
	return true, nil
}

func (w *walker) scalar(node *yaml.Node, p keyPath) (keep bool, err error) {
	var read any
	if node.Decode(&read) != nil {
		return false, &DamagedError{Line: node.Line, Reason: "a value cannot be read"}
	}
	if read == nil {
		return true, nil // SOPS does not encrypt null.
	}
	if p.matched != w.rule.encrypts {
		if !w.onlyEncrypted {
			return true, w.cover(read, node.Line)
		}
		return true, nil
	}
	text, ok := read.(string)
	if !ok {
		return false, &DamagedError{Line: node.Line, Reason: "a value that should be encrypted is not"}
	}
	if text == "" {
		return true, nil // SOPS does not encrypt an empty text.
	}
	opened, err := open(w.block, text, strings.Join(p.path, ":")+":", node.Line)
	if err != nil {
		return false, err
	}
	w.leaves[text] = opened.leaf()
	if _, isComment := opened.value.(Comment); isComment {
		return false, nil
	}
	w.learn(opened, p.path)
	opened.replace(node)
	return true, w.cover(opened.value, node.Line)
}

// cover adds a value to the MAC, in the format of SOPS' ToBytes.
func (w *walker) cover(value any, line int) error {
	text, ok := textOf(value)
	if !ok {
		return &DamagedError{Line: line, Reason: "a value has a type that sops does not support"}
	}
	_, _ = w.mac.Write([]byte(text))
	return nil
}

func textOf(value any) (text string, ok bool) {
	switch value := value.(type) {
	case string:
		return value, true
	case int:
		return strconv.Itoa(value), true
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64), true
	case bool:
		if value {
			return "True", true
		}
		return "False", true
	case time.Time:
		text, err := value.MarshalText()
		return string(text), err == nil
	}
	return "", false
}

// learn adds a decrypted value to texts, unless it is a boolean or names an object.
func (w *walker) learn(o openedValue, path []string) {
	if isIdentity(path) {
		return
	}
	if _, isBool := o.value.(bool); !isBool {
		w.texts = append(w.texts, o.text)
	}
}

// isIdentity reports whether a path leads to a field that identifies an object.
func isIdentity(path []string) bool {
	switch strings.Join(path, ":") {
	case "apiVersion", "kind", "metadata:name", "metadata:namespace", "metadata:generateName":
		return true
	}
	return false
}

// verify compares the MAC of the file.
func (w *walker) verify(m metadata) error {
	if m.mac == "" {
		return &DamagedError{Reason: "it has no MAC"}
	}
	want, err := open(w.block, m.mac, m.modified, 0)
	if err != nil {
		return &DamagedError{Reason: "its MAC cannot be decrypted"}
	}
	got := fmt.Sprintf("%X", w.mac.Sum(nil))
	if subtle.ConstantTimeCompare([]byte(got), []byte(want.text)) != 1 {
		return &DamagedError{Reason: "its MAC does not match: the file was changed without sops"}
	}
	return nil
}

// openedValue is a decrypted value, and its text as it was encrypted.
type openedValue struct {
	value any // string, int, float64, bool, time.Time or Comment
	text  string
}

// open decrypts one value. data is the additional data that the value is bound to, such as its
// place in the file.
func open(block cipher.Block, text, data string, line int) (openedValue, error) {
	damaged := func(reason string) (openedValue, error) {
		return openedValue{}, &DamagedError{Line: line, Reason: reason}
	}
	parts := value.FindStringSubmatch(text)
	if parts == nil {
		return damaged("a value that should be encrypted is not")
	}
	var raw [3][]byte
	for i := range raw {
		var err error
		if raw[i], err = base64.StdEncoding.DecodeString(parts[i+1]); err != nil {
			return damaged("an encrypted value is not base64")
		}
	}
	nonce := raw[1]
	if len(nonce) == 0 || len(nonce) > maxNonce {
		return damaged("an encrypted value has no valid nonce")
	}
	gcm, err := cipher.NewGCMWithNonceSize(block, len(nonce))
	if err != nil {
		return damaged("an encrypted value has no valid nonce")
	}
	plain, err := gcm.Open(nil, nonce, append(raw[0], raw[2]...), []byte(data))
	if err != nil {
		return damaged("an encrypted value cannot be decrypted; it was changed, or moved from another place")
	}
	opened := openedValue{text: string(plain)}
	if opened.value, err = typed(parts[4], opened.text); err != nil {
		return damaged("a decrypted value does not have the type that the file declares")
	}
	return opened, nil
}

// typed converts a text to a value of a type of SOPS.
func typed(kind, text string) (any, error) {
	if !utf8.ValidString(text) {
		return nil, strconv.ErrSyntax
	}
	switch kind {
	case "str", "bytes":
		return text, nil
	case "int":
		return strconv.Atoi(text)
	case "float":
		number, err := strconv.ParseFloat(text, 64)
		if math.IsNaN(number) || math.IsInf(number, 0) {
			return nil, strconv.ErrRange
		}
		return number, err
	case "bool":
		return strconv.ParseBool(text)
	case "time":
		var moment time.Time
		err := moment.UnmarshalText([]byte(text))
		return moment, err
	case "comment":
		return Comment{}, nil
	}
	return nil, strconv.ErrSyntax
}

// leaf returns the value in the type that values of a chart have: numbers are float64.
func (o openedValue) leaf() any {
	switch value := o.value.(type) {
	case int:
		return float64(value)
	case time.Time:
		return o.text
	}
	return o.value
}

// replace replaces the encrypted value of a node with the decrypted one.
func (o openedValue) replace(node *yaml.Node) {
	node.Style, node.Value = 0, o.text
	switch value := o.value.(type) {
	case int:
		node.Tag, node.Value = "!!int", strconv.Itoa(value)
	case float64:
		node.Tag, node.Value = "!!float", strconv.FormatFloat(value, 'g', -1, 64)
	case bool:
		node.Tag, node.Value = "!!bool", strconv.FormatBool(value)
	default:
		node.Tag, node.Style = "!!str", yaml.DoubleQuotedStyle
	}
}
