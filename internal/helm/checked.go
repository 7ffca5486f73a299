package helm

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/helm/storage"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
)

// UncheckedError reports that Helm was about to act on text that was not written from checked
// objects, or that it read other objects from that text. Both are errors of this provider.
type UncheckedError struct{ Reason string }

func (e *UncheckedError) Error() string {
	return "nothing was sent, because Helm reads the manifest differently: " + e.Reason + "; this is an error of the provider"
}

// checkedDocuments are the documents that an operation has written from objects that it has read
// and checked. Helm's client builds objects from no other text.
type checkedDocuments struct {
	mu sync.Mutex
	// objects maps the hash of a document to its object. The namespace of an object can be "".
	objects map[[sha256.Size]byte]objectID
}

func (c *checkedDocuments) add(written []manifest.Written) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.objects == nil {
		c.objects = map[[sha256.Size]byte]objectID{}
	}
	for _, document := range written {
		c.objects[hashOf(document.Text)] = objectID{
			kind: document.Object.GroupVersionKind().GroupKind(), namespace: document.Object.GetNamespace(), name: document.Object.GetName(),
		}
	}
}

// Write writes objects as a stream that Helm's client may read.
func (c *checkedDocuments) Write(objects []*unstructured.Unstructured) (string, error) {
	written, err := manifest.Write(objects)
	if err != nil {
		return "", err
	}
	c.add(written)
	return manifest.Stream(written), nil
}

// WriteManifest writes the objects of a manifest, one by one. It returns "" if that fails.
func (c *checkedDocuments) WriteManifest(objects []*unstructured.Unstructured) string {
	return c.stream(manifest.WriteManifest(objects))
}

// RewriteHook writes the objects of a hook in a record again, one by one. It leaves out what is no
// object, and returns "" for text that is no YAML.
func (c *checkedDocuments) RewriteHook(text string) string {
	objects, err := storage.SingleObjects(text)
	if err != nil {
		return ""
	}
	return c.stream(manifest.Write(objects))
}

func (c *checkedDocuments) stream(written []manifest.Written, err error) string {
	if err != nil {
		return ""
	}
	c.add(written)
	return manifest.Stream(written)
}

// in returns the objects that were checked of the documents in a text.
func (c *checkedDocuments) in(text string) ([]objectID, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []objectID
	for document := range strings.SplitSeq("\n"+text, "\n---\n") {
		document = withoutSource(document)
		if strings.TrimSpace(document) == "" {
			continue
		}
		object, known := c.objects[hashOf(document)]
		if !known {
			return nil, &UncheckedError{Reason: fmt.Sprintf("document %d was not checked", len(found)+1)}
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

// compare compares the objects that Helm built from a text with those that were checked. namespace
// is that of objects without one.
func compare(checked []objectID, built kube.ResourceList, namespace string) error {
	if len(built) != len(checked) {
		return &UncheckedError{Reason: fmt.Sprintf("it has %d objects, and %d were checked", len(built), len(checked))}
	}
	for i, info := range built {
		want := checked[i]
		want.namespace = cmp.Or(want.namespace, namespace)
		if !info.Namespaced() {
			want.namespace = ""
		}
		if got := idOf(info); got != want {
			return &UncheckedError{Reason: fmt.Sprintf("object %d is %s, and %s was checked", i+1, got, want)}
		}
	}
	return nil
}
