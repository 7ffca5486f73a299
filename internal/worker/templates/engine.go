package templates

import (
	"context"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// lookupFunc reads objects for the template function lookup.
type lookupFunc func(apiVersion, kind, namespace, name string) (map[string]any, error)

// asHelm returns what a template gets (helm.sh/helm/v3/pkg/engine/lookup_func.go).
func (l lookupFunc) asHelm(apiVersion, kind, namespace, name string) (map[string]any, error) {
	client := lookupClient{lookup: l, apiVersion: apiVersion, kind: kind, namespace: namespace}
	if name == "" {
		list, err := client.list()
		if err != nil {
			return nil, err
		}
		return list.UnstructuredContent(), nil
	}
	return l(apiVersion, kind, namespace, name)
}

// runEngine runs the templates of a chart with Helm's engine. Host names are not resolved, because
// a template could send values away in them.
func runEngine(c *chart.Chart, values chartutil.Values, lookup lookupFunc) (map[string]string, error) {
	outputs, err := runOnce(c, values, lookup)
	for name, output := range outputs {
		// Helm's engine runs again on the quoted output and would remove this text again.
		for strings.Contains(output, "<no value>") {
			output = withoutNoValue(output)
		}
		outputs[name] = output
	}
	return outputs, err
}

func runOnce(c *chart.Chart, values chartutil.Values, lookup lookupFunc) (map[string]string, error) {
	if lookup == nil {
		return engine.Render(c, values)
	}
	return engine.RenderWithClientProvider(c, values, lookups{lookup})
}

// lookups gives Helm's engine a client for objects. The client sends no requests itself: it calls
// lookup.
type lookups struct{ lookup lookupFunc }

// GetClientFor returns a client for a kind. Whether the kind has namespaces is not known here;
// lookup decides that.
func (l lookups) GetClientFor(apiVersion, kind string) (dynamic.NamespaceableResourceInterface, bool, error) {
	return lookupClient{lookup: l.lookup, apiVersion: apiVersion, kind: kind}, true, nil
}

// lookupClient implements only the methods that Helm's engine calls
// (helm.sh/helm/v3/pkg/engine/lookup_func.go).
type lookupClient struct {
	dynamic.NamespaceableResourceInterface

	lookup                      lookupFunc
	apiVersion, kind, namespace string
}

// Namespace restricts the client to a namespace.
func (l lookupClient) Namespace(name string) dynamic.ResourceInterface {
	l.namespace = name
	return l
}

// Get reads one object. An object that does not exist is empty.
func (l lookupClient) Get(_ context.Context, name string, _ metav1.GetOptions, _ ...string) (*unstructured.Unstructured, error) {
	content, err := l.lookup(l.apiVersion, l.kind, l.namespace, name)
	if err != nil {
		return nil, err
	}
	return &unstructured.Unstructured{Object: content}, nil
}

// List reads all objects of the kind.
func (l lookupClient) List(context.Context, metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	return l.list()
}

func (l lookupClient) list() (*unstructured.UnstructuredList, error) {
	content, err := l.lookup(l.apiVersion, l.kind, l.namespace, "")
	if err != nil {
		return nil, err
	}
	list := &unstructured.UnstructuredList{Object: map[string]any{}}
	for key, value := range content {
		if key != "items" {
			list.Object[key] = value
		}
	}
	items, _ := content["items"].([]any)
	for _, item := range items {
		if object, ok := item.(map[string]any); ok {
			list.Items = append(list.Items, unstructured.Unstructured{Object: object})
		}
	}
	return list, nil
}
