package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// Connection is a connection to the management cluster.
type Connection interface {
	// ToRESTConfig returns a copy of the configuration.
	ToRESTConfig() (*rest.Config, error)
}

const (
	fleetPath = "/apis/fleet.cattle.io/v1alpha1"
	corePath  = "/api/v1"
	// pageSize is how many objects one page of a list has.
	pageSize = 250
	// onlyMetadata requests objects without specification and status.
	onlyMetadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// objectPath returns the path of the objects of a kind, in one namespace or in all.
func objectPath(namespace, resource string) string {
	if namespace == "" {
		return fleetPath + "/" + resource
	}
	return fleetPath + "/namespaces/" + url.PathEscape(namespace) + "/" + resource
}

// client sends requests to the management cluster. It reads the JSON of objects into structs with
// only the fields that are used. So nothing depends on the version of Fleet's Go types.
type client struct {
	requests rest.Interface
	// watching has no timeout for a response: the response of a watch does not end.
	watching rest.Interface
}

func newClient(connection Connection) (*client, error) {
	config, err := connection.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	requests, err := restClient(config)
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.Timeout = 0
	watching, err := restClient(config)
	if err != nil {
		return nil, err
	}
	return &client{requests: requests, watching: watching}, nil
}

func restClient(config *rest.Config) (rest.Interface, error) {
	config = rest.CopyConfig(config)
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	config.GroupVersion = &schema.GroupVersion{}
	requests, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("creating a client of the management cluster: %w", err)
	}
	return requests, nil
}

func bundlesPath(namespace string) string {
	return objectPath(namespace, bundleResource)
}

func secretsPath(namespace string) string {
	return corePath + "/namespaces/" + url.PathEscape(namespace) + "/secrets"
}

const (
	bundleResource     = "bundles"
	deploymentResource = "bundledeployments"
	deploymentsPath    = fleetPath + "/" + deploymentResource
)

// bodyOf returns the body or the error of a response: Raw alone does not read the error.
func bodyOf(response rest.Result) ([]byte, error) {
	if err := response.Error(); err != nil {
		return nil, err
	}
	return response.Raw()
}

// get reads an object. found is false if the management cluster does not have it.
func (c *client) get(ctx context.Context, path string) (object map[string]any, found bool, err error) {
	body, err := bodyOf(c.requests.Get().AbsPath(path).Do(ctx))
	switch {
	case isNotFound(err):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	}
	if err := json.Unmarshal(body, &object); err != nil {
		return nil, false, fmt.Errorf("reading %s: %w", path, err)
	}
	return object, true, nil
}

// isNotFound reports whether an object does not exist. A missing kind or a proxy in between can
// also cause a response with code 404. Such a response names no object, and does not count.
func isNotFound(err error) bool {
	var answer apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &answer) {
		return false
	}
	details := answer.Status().Details
	return details != nil && details.Name != ""
}

// put creates an object among those of a path, or updates it if it exists, and returns what the
// management cluster stored. An update fails with a conflict if the object has another resource version
// by now.
func (c *client) put(ctx context.Context, path, name string, exists bool, object map[string]any) (map[string]any, error) {
	body, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("writing JSON: %w", err)
	}
	request := c.requests.Post().AbsPath(path)
	if exists {
		request = c.requests.Put().AbsPath(path, name)
	}
	answer, err := bodyOf(request.SetHeader("Content-Type", "application/json").Body(body).Do(ctx))
	if err != nil {
		return nil, err
	}
	var stored map[string]any
	if err := json.Unmarshal(answer, &stored); err != nil {
		return nil, fmt.Errorf("reading the response: %w", err)
	}
	return stored, nil
}

// patch merges changes into an object.
func (c *client) patch(ctx context.Context, path string, changes map[string]any) error {
	body, err := json.Marshal(changes)
	if err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	return c.requests.Patch(types.MergePatchType).AbsPath(path).Body(body).Do(ctx).Error()
}

// remove deletes an object if it is still as it was read. A missing object is no error.
func (c *client) remove(ctx context.Context, path string, of metadata) error {
	options := metav1.DeleteOptions{
		TypeMeta:      metav1.TypeMeta{Kind: "DeleteOptions", APIVersion: "v1"},
		Preconditions: metav1.NewPreconditionDeleteOptions(of.UID).Preconditions,
	}
	options.Preconditions.ResourceVersion = &of.ResourceVersion
	body, err := json.Marshal(options)
	if err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	err = c.requests.Delete().AbsPath(path).SetHeader("Content-Type", "application/json").Body(body).Do(ctx).Error()
	if isNotFound(err) {
		return nil
	}
	return err
}

// watchEvent is one change of a BundleDeployment.
type watchEvent struct {
	Type   string          `json:"type"`
	Object json.RawMessage `json:"object"`
}

// watch calls see for each change from a version on, until the response ends. The error is a
// *apierrors.StatusError if the API server ended the watch with an error.
func (c *client) watch(ctx context.Context, path, selector, version string, see func(watchEvent) error) error {
	stream, err := c.watching.Get().AbsPath(path).Param("watch", "true").Param("labelSelector", selector).
		Param("resourceVersion", version).Param("allowWatchBookmarks", "true").Stream(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }()
	events := json.NewDecoder(stream) // An API server stores no object of more than some MiB.
	for {
		var event watchEvent
		switch err := events.Decode(&event); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("reading an event of %s: %w", path, err)
		}
		if event.Type == "ERROR" {
			status := metav1.Status{Code: http.StatusInternalServerError}
			_ = json.Unmarshal(event.Object, &status) // An unreadable status counts as an internal error.
			return &apierrors.StatusError{ErrStatus: status}
		}
		if err := see(event); err != nil {
			return err
		}
	}
}
