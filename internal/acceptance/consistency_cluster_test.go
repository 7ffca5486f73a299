package acceptance_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"
)

// consistencyNamespace is the content of a cluster, read without the provider.
type consistencyNamespace struct {
	namespace string
	typed     kubernetes.Interface
	objects   dynamic.Interface
	names     metadata.Interface
	kinds     discovery.CachedDiscoveryInterface
	// defines are the custom resource definitions that the test installs from crds/. They carry no
	// owner.
	defines map[string]bool
}

func newConsistencyNamespace(t *testing.T, s *fixture, rows []*consistencyRow) *consistencyNamespace {
	t.Helper()
	config := s.env.Cluster(0).RESTConfig()
	config.WarningHandler = rest.NoWarnings{}
	g := &consistencyNamespace{namespace: s.namespace, defines: map[string]bool{}}
	var err error
	if g.typed, err = kubernetes.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	if g.objects, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	if g.names, err = metadata.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	g.kinds = memory.NewMemCacheClient(g.typed.Discovery())
	for _, row := range rows {
		for _, name := range row.definitions(t) {
			g.defines[name] = true
		}
	}
	there, err := g.names.Resource(definitionResource()).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, definition := range there.Items {
		delete(g.defines, definition.Name)
	}
	return g
}

func definitionResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
}

// resource returns the API resource of a kind.
func (g *consistencyNamespace) resource(kind schema.GroupVersionKind) (schema.GroupVersionResource, bool, error) {
	mapping, err := restmapper.NewDeferredDiscoveryRESTMapper(g.kinds).RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return schema.GroupVersionResource{}, false, err
	}
	return mapping.Resource, mapping.Scope.Name() == "namespace", nil
}

// manifest returns the objects in the newest record of a release, with lists taken apart. The test
// reads them with its own code and not with that of the provider.
func (g *consistencyNamespace) manifest(ctx context.Context, namespace, name string) ([]*unstructured.Unstructured, error) {
	secrets, err := g.typed.CoreV1().Secrets(namespace).List(ctx, metav1.ListOptions{LabelSelector: "owner=helm,status=deployed,name=" + name})
	if err != nil {
		return nil, err
	}
	if len(secrets.Items) != 1 {
		return nil, fmt.Errorf("release %s has %d deployed records", name, len(secrets.Items))
	}
	text, err := recordedManifest(&secrets.Items[0])
	if err != nil {
		return nil, err
	}
	return objectsOf(text)
}

// objectsOf returns the objects of a manifest, with lists taken apart.
func objectsOf(text string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for document := range strings.SplitSeq("\n"+strings.ReplaceAll(text, "\r\n", "\n"), "\n---") {
		asJSON, err := yaml.YAMLToJSON([]byte(document + "\n"))
		if err != nil {
			return nil, err
		}
		object := &unstructured.Unstructured{}
		if string(asJSON) == "null" {
			continue
		}
		if err := json.Unmarshal(asJSON, &object.Object); err != nil {
			return nil, err
		}
		items, isList := object.Object["items"].([]any)
		if !isList || !strings.HasSuffix(object.GetKind(), "List") {
			objects = append(objects, object)
			continue
		}
		for _, item := range items {
			content, isObject := item.(map[string]any)
			if !isObject {
				return nil, fmt.Errorf("%s holds no object", object.GetKind())
			}
			objects = append(objects, &unstructured.Unstructured{Object: content})
		}
	}
	return objects, nil
}

func recordedManifest(secret *corev1.Secret) (string, error) {
	zipped, err := base64.StdEncoding.DecodeString(string(secret.Data["release"]))
	if err != nil {
		return "", err
	}
	reader, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		return "", err
	}
	var record struct {
		Manifest string `json:"manifest"`
	}
	content, err := io.ReadAll(reader)
	if err != nil {
		return "", err
	}
	return record.Manifest, json.Unmarshal(content, &record)
}

// holding is what a cluster has of a release.
type holding struct {
	// hashes are the hashes of its objects, as in objects.
	hashes map[string]string
	// altered are the ConfigMaps with other data than the manifest.
	altered []string
}

// held reads every object of the manifest of a release.
func (g *consistencyNamespace) held(ctx context.Context, deployment storedRecord) (holding, error) {
	objects, err := g.manifest(ctx, deployment.Namespace, deployment.Release)
	if err != nil {
		return holding{}, err
	}
	found := holding{hashes: map[string]string{}}
	last := map[string]*unstructured.Unstructured{}
	for _, object := range objects {
		key, err := g.key(object, deployment.Namespace)
		if err != nil {
			return holding{}, err
		}
		content, err := json.Marshal(object.Object)
		if err != nil {
			return holding{}, err
		}
		if object.GroupVersionKind().GroupKind().String() == "Secret" {
			content = []byte(deployment.Digest)
		}
		hash := shortSum(string(content))
		if before, twice := found.hashes[key]; twice {
			hash = shortSum(before + hash)
		}
		found.hashes[key], last[key] = hash, object
	}
	var (
		mu      sync.Mutex
		reading errgroup.Group
	)
	reading.SetLimit(8)
	for _, object := range last {
		reading.Go(func() error {
			isAsWritten, err := g.compare(ctx, object, deployment.Namespace)
			if err == nil && !isAsWritten {
				mu.Lock()
				defer mu.Unlock()
				found.altered = append(found.altered, object.GetName())
			}
			return err
		})
	}
	return found, reading.Wait()
}

func shortSum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}

// key returns the name of an object in objects.
func (g *consistencyNamespace) key(object *unstructured.Unstructured, namespace string) (string, error) {
	kind := object.GroupVersionKind()
	_, namespaced, err := g.resource(kind)
	if err != nil {
		return "", err
	}
	parts := []string{kind.GroupKind().String()}
	// A plan cannot know which kinds of other projects have no namespace, so all of them count as
	// if they had one.
	if namespaced || strings.HasSuffix(kind.Group, ".example.com") {
		parts = append(parts, cmp.Or(object.GetNamespace(), namespace))
	}
	return strings.Join(append(parts, object.GetName()), "/"), nil
}

// compare finds an object of a manifest on the cluster. It returns false for a ConfigMap with other
// content there.
func (g *consistencyNamespace) compare(ctx context.Context, object *unstructured.Unstructured, namespace string) (bool, error) {
	resource, namespaced, err := g.resource(object.GroupVersionKind())
	if err != nil {
		return false, err
	}
	place := dynamic.ResourceInterface(g.objects.Resource(resource))
	if namespaced {
		place = g.objects.Resource(resource).Namespace(cmp.Or(object.GetNamespace(), namespace))
	}
	live, err := place.Get(ctx, object.GetName(), metav1.GetOptions{})
	if err != nil {
		return false, fmt.Errorf("looking for %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	if object.GetKind() != "ConfigMap" {
		return true, nil
	}
	for _, field := range []string{"data", "binaryData"} {
		if !maps.Equal(texts(object.Object[field]), texts(live.Object[field])) {
			return false, nil
		}
	}
	return true, nil
}

// texts returns the entries of a map that are not null: a server stores no null.
func texts(field any) map[string]string {
	found := map[string]string{}
	entries, _ := field.(map[string]any)
	for key, entry := range entries {
		if text, ok := entry.(string); ok {
			found[key] = text
		}
	}
	return found
}
