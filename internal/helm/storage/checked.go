package storage

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
)

// UncheckedError reports that Helm was about to act on text that was not written from checked
// objects. It is an error of this provider.
type UncheckedError struct {
	// Document counts from 1.
	Document int
}

func (e *UncheckedError) Error() string {
	return fmt.Sprintf("nothing was sent, because Helm has changed the manifest: document %d was not checked; "+
		"this is an error of the provider", e.Document)
}

// CheckedDocuments are the documents that an operation has written from objects that it has read
// and checked. They are looked up and not read again, so what is written to a cluster is what was
// checked.
type CheckedDocuments struct {
	mu sync.Mutex
	// objects maps the hash of a document to its object.
	objects map[[sha256.Size]byte]*unstructured.Unstructured
}

// Add adds documents that Helm may pass on.
func (c *CheckedDocuments) Add(written []manifest.Written) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.objects == nil {
		c.objects = map[[sha256.Size]byte]*unstructured.Unstructured{}
	}
	for _, document := range written {
		c.objects[hashOf(document.Text)] = document.Object
	}
}

// Write writes objects as a stream that Helm may pass on.
func (c *CheckedDocuments) Write(objects []*unstructured.Unstructured) (string, error) {
	written, err := manifest.Write(objects)
	if err != nil {
		return "", err
	}
	c.Add(written)
	return manifest.Stream(written), nil
}

// WriteManifest writes the objects of a manifest, one by one. It returns "" if that fails.
func (c *CheckedDocuments) WriteManifest(objects []*unstructured.Unstructured) string {
	return c.stream(manifest.WriteManifest(objects))
}

// RewriteHook writes the objects of a hook in a record again, one by one. It leaves out what is no
// object, and returns "" for text that is no YAML.
func (c *CheckedDocuments) RewriteHook(text string) string {
	objects, err := SingleObjects(text)
	if err != nil {
		return ""
	}
	return c.stream(manifest.Write(objects))
}

func (c *CheckedDocuments) stream(written []manifest.Written, err error) string {
	if err != nil {
		return ""
	}
	c.Add(written)
	return manifest.Stream(written)
}

// In returns the objects of the documents in a text. They are shared, and must not be changed.
func (c *CheckedDocuments) In(text string) ([]*unstructured.Unstructured, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []*unstructured.Unstructured
	for document := range strings.SplitSeq("\n"+text, "\n---\n") {
		document = withoutSource(document)
		if strings.TrimSpace(document) == "" {
			continue
		}
		object, known := c.objects[hashOf(document)]
		if !known {
			return nil, &UncheckedError{Document: len(found) + 1}
		}
		found = append(found, object)
	}
	return found, nil
}

// withoutSource removes the comment with the name of the template.
func withoutSource(document string) string {
	if line, rest, found := strings.Cut(strings.TrimLeft(document, "\n"), "\n"); found && strings.HasPrefix(line, "# Source: ") {
		return rest
	}
	return document
}

func hashOf(document string) [sha256.Size]byte {
	return sha256.Sum256([]byte(strings.TrimSpace(document)))
}
