package helm

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"helm.sh/helm/v3/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

// Build returns the objects of a manifest, and records those that are to be written. It does not read
// the manifest, but looks up the objects that its documents were written from. It validates no
// fields: API servers do that since Kubernetes 1.27.
func (k *kubeClient) Build(stream io.Reader, validate bool) (kube.ResourceList, error) {
	text, err := io.ReadAll(stream)
	if err != nil {
		return nil, err
	}
	objects, err := k.checked.In(string(text))
	if err != nil {
		return nil, err
	}
	built, err := k.infos(objects)
	if err != nil {
		return built, err
	}
	if isTarget := validate; !isTarget { // Only objects to be written are validated, and then looked up.
		k.former = built
		return built, nil
	}
	// Check before any write: Helm stores the release after that.
	if err := refuseBuiltRecords(built); err != nil {
		return built, err
	}
	if k.hooks.texts[string(text)] {
		for _, object := range built {
			k.hooks.built[object] = true
		}
		return built, nil
	}
	k.cache.expect(built)
	k.expected = built
	for _, object := range built {
		k.targets[object] = true
	}
	return built, nil
}

// infos adds to each object how it is reached on the cluster. It copies the objects, because Helm
// changes them. If some kinds are not known, it returns the other objects with the error.
func (k *kubeClient) infos(objects []*unstructured.Unstructured) (kube.ResourceList, error) {
	var (
		built kube.ResourceList
		errs  []error
	)
	for _, object := range objects {
		info, err := k.info(object.DeepCopy())
		if err != nil {
			errs = append(errs, err)
			continue
		}
		built = append(built, info)
	}
	return built, errors.Join(errs...)
}

func (k *kubeClient) info(object *unstructured.Unstructured) (*resource.Info, error) {
	kind := object.GroupVersionKind()
	mapping, err := k.cluster.Mapper().RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, fmt.Errorf("looking up the kind of %s %s: %w", kind.Kind, object.GetName(), err)
	}
	if err := checkMetadata(object); err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", kind.Kind, object.GetName(), err)
	}
	client, err := k.requester.of(kind.GroupVersion())
	if err != nil {
		return nil, err
	}
	info := &resource.Info{Client: client, Mapping: mapping, Namespace: object.GetNamespace(), Name: object.GetName(), Object: object}
	if info.Namespaced() && info.Namespace == "" {
		info.Namespace = k.Namespace
		object.SetNamespace(k.Namespace)
	}
	return info, nil
}

// checkMetadata returns an error if the metadata of an object has values of wrong types. Functions
// that read single fields of it would take such values for missing.
func checkMetadata(object *unstructured.Unstructured) error {
	metadata, _ := object.Object["metadata"].(map[string]any)
	return runtime.DefaultUnstructuredConverter.FromUnstructured(metadata, &metav1.ObjectMeta{})
}

// requester makes the clients of API groups that share one HTTP client, for one operation.
type requester struct {
	config *rest.Config
	http   *http.Client

	mu      sync.Mutex
	clients map[schema.GroupVersion]*rest.RESTClient
}

func newRequester(cluster Cluster, wrap transport.WrapperFunc) (*requester, error) {
	config, err := cluster.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the connection: %w", err)
	}
	config.Wrap(wrap)
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	return &requester{config: config, http: client, clients: map[schema.GroupVersion]*rest.RESTClient{}}, nil
}

// of returns the client for an API group in a version.
func (r *requester) of(version schema.GroupVersion) (*rest.RESTClient, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if client := r.clients[version]; client != nil {
		return client, nil
	}
	config := rest.CopyConfig(r.config)
	config.ContentConfig = resource.UnstructuredPlusDefaultContentConfig()
	config.GroupVersion = &version
	config.APIPath = "/apis"
	if version.Group == "" {
		config.APIPath = "/api"
	}
	client, err := rest.RESTClientForConfigAndClient(config, r.http)
	if err != nil {
		return nil, fmt.Errorf("creating a client for %s: %w", version, err)
	}
	r.clients[version] = client
	return client, nil
}
