// Package mask hides secrets in all texts that leave the provider, and makes text from other sources
// harmless to a terminal.
package mask

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Sensitive replaces a secret value.
const Sensitive = "(sensitive value)"

const (
	// Anywhere is the length in bytes from which a value is hidden wherever it occurs. A
	// shorter one is hidden as a whole word only: it may be a word of the language.
	Anywhere = 8
	// Shortest is the length below which a value is not hidden. One or two characters are
	// guessed at once, and occur in every text.
	Shortest = 3
)

// Masker hides the values that were added to it. The Masker of a configured provider has the
// credentials of the provider. A Masker made by For has these too, and the secrets that an
// operation reads of one release. Its methods may be called concurrently. A nil Masker hides no
// value.
type Masker struct {
	parent *Masker

	mu     sync.Mutex
	values map[string]bool
	public map[string]bool
	built  *index
}

// For returns a Masker that also hides what m hides now and later. Values added to it are not added
// to m.
func (m *Masker) For() *Masker { return &Masker{parent: m} }

// Add hides credentials and other texts that are secret as a whole.
func (m *Masker) Add(secrets ...string) {
	for _, secret := range secrets {
		m.add(strings.TrimSpace(secret))
		m.addLines(secret)
	}
}

// addLines hides the lines of a key or a file, because a line can be quoted without the others, and
// YAML indents each line.
func (m *Masker) addLines(secret string) {
	const shortestLine = 16
	if !strings.Contains(strings.TrimSpace(secret), "\n") {
		return
	}
	for line := range strings.Lines(secret) {
		if line = strings.TrimSpace(line); len(line) >= shortestLine && !strings.HasPrefix(line, "-----") {
			m.add(line)
		}
	}
}

// AddValues hides every text and number in a decoded YAML or JSON value: values of
// helm.valuesFrom, write-only values, decrypted files. A value that is public or a word of
// YAML is not hidden.
func (m *Masker) AddValues(values any) {
	switch values := values.(type) {
	case map[string]any:
		for _, value := range values {
			m.AddValues(value)
		}
	case []any:
		for _, value := range values {
			m.AddValues(value)
		}
	case string:
		m.AddValue(values)
	case []byte:
		m.AddValue(string(values))
	case json.Number:
		m.AddValue(values.String())
	case float64:
		m.AddValue(strconv.FormatFloat(values, 'f', -1, 64))
		m.AddValue(strconv.FormatFloat(values, 'g', -1, 64)) // As templates write it.
	case int64:
		m.AddValue(strconv.FormatInt(values, 10))
	case int:
		m.AddValue(strconv.Itoa(values))
	}
}

// AddTexts hides values as a file writes them, which can be in base64.
func (m *Masker) AddTexts(texts ...string) {
	for _, text := range texts {
		if decoded, err := base64.StdEncoding.DecodeString(text); err == nil && utf8.Valid(decoded) {
			m.AddValue(string(decoded))
		}
		m.AddValue(text)
	}
}

// AddValue hides a value of a Secret. A document in JSON, as in a Secret of the type
// kubernetes.io/dockerconfigjson, is hidden with each text in it.
func (m *Masker) AddValue(value string) {
	trimmed := strings.TrimSpace(value)
	if IsWord(trimmed) || m.isPublic(trimmed) {
		return
	}
	m.Add(value)
	if !strings.HasPrefix(trimmed, "{") || !json.Valid([]byte(trimmed)) {
		return
	}
	var document map[string]any
	if json.Unmarshal([]byte(trimmed), &document) == nil {
		m.AddValues(document)
	}
}

// IsWord reports whether a value is a word of YAML or the name of a default. Such a word reveals
// nothing without its key, and many errors contain it.
func IsWord(value string) bool {
	switch strings.ToLower(value) {
	case "true", "false", "yes", "no", "on", "off", "null", "none", "default":
		return true
	}
	return false
}

// Publish keeps names readable, such as those of a release and of its namespace. These names are
// printed anyway. Hiding a name would reveal that a Secret has the same value. Credentials of the
// provider are hidden nevertheless.
func (m *Masker) Publish(names ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range names {
		if name == "" {
			continue
		}
		if m.public == nil {
			m.public = map[string]bool{}
		}
		m.public[name] = true
	}
}

func (m *Masker) isPublic(value string) bool {
	for at := m; at != nil; at = at.parent {
		at.mu.Lock()
		found := at.public[value]
		at.mu.Unlock()
		if found {
			return true
		}
	}
	return false
}

func (m *Masker) add(value string) {
	if len(value) < Shortest {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.values[value] {
		return
	}
	if m.values == nil {
		m.values = map[string]bool{}
	}
	m.values[strings.Clone(value)] = true
	m.built = nil
}

// Text returns a text without secret values. A value that an API server quotes as invalid is left
// out as well. It can be a secret value of the live object that was not added to the Masker.
func (m *Masker) Text(text string) string {
	return m.Hide(withoutInvalidValues(text))
}

// Hide replaces secret values.
func (m *Masker) Hide(text string) string {
	var found []span
	var public []string
	for at := m; at != nil; at = at.parent {
		known, names := at.index()
		found = known.find(text, found)
		public = append(public, names...)
	}
	if len(found) == 0 {
		return text
	}
	return replace(text, mergeSpans(text, found, public))
}

func (m *Masker) index() (known *index, public []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.built == nil {
		m.built = newIndex(m.values)
	}
	for name := range m.public {
		public = append(public, name)
	}
	return m.built, public
}

// Hides reports whether a text contains a secret value.
func (m *Masker) Hides(text string) bool { return m.Hide(text) != text }

// Error returns an error that wraps err and has its text without secret values.
func (m *Masker) Error(err error) error {
	if err == nil {
		return nil
	}
	return WithText(err, m.Text(err.Error()))
}

// WithText returns an error that wraps err and has another text.
func WithText(err error, text string) error {
	if err.Error() == text {
		return err
	}
	return &textError{text: text, err: err}
}

type textError struct {
	text string
	err  error
}

func (e *textError) Error() string { return e.text }
func (e *textError) Unwrap() error { return e.err }
