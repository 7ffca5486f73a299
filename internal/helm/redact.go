package helm

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
)

// redactor keeps the values of Secrets out of error texts. An API server quotes
// an object that it rejects, and Helm hands that on. It learns the values from
// the manifests that an operation reads and writes.
type redactor struct {
	mu     sync.Mutex
	values map[string]bool
	// mask hides what was decrypted of a bundle, nil if there is none.
	mask func(text string) string
}

// redacted stands where a value was.
const redacted = "(sensitive value)"

// shortest is the length from which a value is taken for a secret; replacing
// shorter ones would only make the text unreadable.
const shortest = 3

// learn takes the values of all Secrets in a manifest. A manifest that cannot
// be read has none that could have been sent.
func (r *redactor) learn(stream string) {
	if !strings.Contains(stream, "Secret") {
		return
	}
	parsed, err := manifest.Parse([]byte(stream))
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, object := range manifest.Flatten(parsed) {
		if object.GetKind() == "Secret" && object.GetAPIVersion() == "v1" {
			r.learnSecret(object)
		}
	}
}

func (r *redactor) learnSecret(object *unstructured.Unstructured) {
	if r.values == nil {
		r.values = map[string]bool{}
	}
	for _, field := range []string{"data", "stringData"} {
		entries, _, err := unstructured.NestedMap(object.Object, field)
		if err != nil {
			continue
		}
		for _, entry := range entries {
			text, ok := entry.(string)
			if !ok {
				continue
			}
			r.add(text)
			if decoded, err := base64.StdEncoding.DecodeString(text); err == nil {
				r.add(string(decoded))
			}
			r.add(base64.StdEncoding.EncodeToString([]byte(text)))
		}
	}
}

// learnValue takes all texts in a value that came out of a Secret.
func (r *redactor) learnValue(value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, item := range value {
			r.learnValue(item)
		}
	case []any:
		for _, item := range value {
			r.learnValue(item)
		}
	case string:
		r.learnText(value)
	case float64:
		r.learnText(strconv.FormatFloat(value, 'f', -1, 64))
		r.learnText(fmt.Sprint(value)) // As templates write it.
	}
}

func (r *redactor) learnText(value string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.values == nil {
		r.values = map[string]bool{}
	}
	r.add(value)
}

// add takes a value as it is and as it stands inside JSON.
func (r *redactor) add(value string) {
	if len(value) < shortest {
		return
	}
	r.values[value] = true
	if quoted, err := json.Marshal(value); err == nil {
		r.values[string(quoted[1:len(quoted)-1])] = true
	}
}

// redact words err without the values.
func (r *redactor) redact(err error) error {
	if err == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	values := make([]string, 0, len(r.values))
	for value := range r.values {
		values = append(values, value)
	}
	// The longest first: one value can be part of another.
	slices.SortFunc(values, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	text := err.Error()
	for _, value := range values {
		text = strings.ReplaceAll(text, value, redacted)
	}
	if r.mask != nil {
		text = r.mask(text)
	}
	if text == err.Error() {
		return err
	}
	return &redactedError{text: text, err: err}
}

// redactedError has the type of its cause and another text.
type redactedError struct {
	text string
	err  error
}

func (e *redactedError) Error() string { return e.text }
func (e *redactedError) Unwrap() error { return e.err }

// learning is a post-renderer that learns from what passes through it.
type learning struct {
	redactor *redactor
	next     interface {
		Run(rendered *bytes.Buffer) (*bytes.Buffer, error)
	}
}

func (l learning) Run(rendered *bytes.Buffer) (*bytes.Buffer, error) {
	l.redactor.learn(rendered.String())
	if l.next == nil {
		return rendered, nil
	}
	return l.next.Run(rendered)
}

// MaskSecrets answers a manifest in which the values of Secrets cannot be read.
func MaskSecrets(stream string) (string, error) {
	parsed, err := manifest.Parse([]byte(stream))
	if err != nil {
		return "", err
	}
	for _, object := range parsed {
		mask(object.Object)
	}
	return manifest.Join(parsed)
}

// mask hides the values of an object, or of the objects of a list, that is a Secret.
func mask(object map[string]any) {
	items, _ := object["items"].([]any)
	for _, item := range items {
		if below, ok := item.(map[string]any); ok {
			mask(below)
		}
	}
	if object["kind"] != "Secret" || object["apiVersion"] != "v1" {
		return
	}
	for _, field := range []string{"data", "stringData"} {
		entries, _ := object[field].(map[string]any)
		for key := range entries {
			entries[key] = redacted
		}
	}
	// kubectl keeps the whole object there.
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if _, applied := annotations[lastApplied]; applied {
		annotations[lastApplied] = redacted
	}
}

// MaskTexts answers a manifest whose texts and numbers went through mask. What names an
// object stays.
func MaskTexts(stream string, mask func(text string) string) (string, error) {
	parsed, err := manifest.Parse([]byte(stream))
	if err != nil {
		return "", err
	}
	for _, object := range manifest.Flatten(parsed) {
		name, namespace := object.GetName(), object.GetNamespace()
		for _, field := range slices.Collect(maps.Keys(object.Object)) {
			if field != "apiVersion" && field != "kind" {
				object.Object[field] = maskTexts(object.Object[field], mask)
			}
		}
		object.SetName(name)
		object.SetNamespace(namespace)
	}
	return manifest.Join(parsed)
}

func maskTexts(value any, mask func(text string) string) any {
	switch value := value.(type) {
	case map[string]any:
		for key, item := range value {
			value[key] = maskTexts(item, mask)
		}
	case []any:
		for i, item := range value {
			value[i] = maskTexts(item, mask)
		}
	case string:
		return mask(value)
	case int64, float64:
		if text := fmt.Sprint(value); mask(text) != text {
			return mask(text)
		}
	}
	return value
}

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
