package testenv

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/template"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
)

// fleetAccount is the service account of Fleet's controllers.
const fleetAccount = "fleet-controller"

// fleetClusters returns the resource of Fleet's Cluster objects.
func fleetClusters() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "fleet.cattle.io", Version: "v1alpha1", Resource: "clusters"}
}

// A fleetClient prepares one cluster of a Fleet.
type fleetClient struct {
	readiness
	cluster *Cluster
	dynamic dynamic.Interface
}

func (f *Fleet) newFleetClient(name string) (fleetClient, error) {
	cluster := f.clusters[name]
	config := cluster.RESTConfig()
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return fleetClient{}, fmt.Errorf("making a client: %w", err)
	}
	ready, err := newReadiness(config, func() error {
		return errors.Join(cluster.local.failure(), f.processes.failure())
	})
	return fleetClient{readiness: ready, cluster: cluster, dynamic: objects}, err
}

// install creates what Fleet's charts create in a management cluster, except for the Deployments.
// It returns a kubeconfig with the rights that Fleet's own controllers have there.
func (c fleetClient) install(ctx context.Context, programs string, manageAgents bool) (string, error) {
	for _, name := range []string{fleetSystem, FleetNamespace} {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := c.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
			return "", fmt.Errorf("creating namespace %s: %w", name, err)
		}
	}
	if err := c.createCRDs(ctx, programs); err != nil {
		return "", err
	}
	rights, err := os.ReadFile(filepath.Join(programs, fleetRBAC))
	if err != nil {
		return "", fmt.Errorf("reading the rights of Fleet: %w", err)
	}
	rendered, err := renderFleetChart(string(rights))
	if err != nil {
		return "", err
	}
	if _, err := c.create(ctx, rendered); err != nil {
		return "", err
	}
	if err := c.configure(ctx, manageAgents); err != nil {
		return "", err
	}
	token, err := makeToken(ctx, c.client.CoreV1().ServiceAccounts(fleetSystem), fleetAccount)
	if err != nil {
		return "", fmt.Errorf("requesting a token for service account %s: %w", fleetAccount, err)
	}
	return c.cluster.kubeconfig(token)
}

func (c fleetClient) createCRDs(ctx context.Context, programs string) error {
	content, err := os.ReadFile(filepath.Join(programs, fleetCRDs))
	if err != nil {
		return fmt.Errorf("reading the CRDs of Fleet: %w", err)
	}
	created, err := c.create(ctx, content)
	if err != nil {
		return err
	}
	for _, definition := range created {
		err := c.wait(ctx, "CRD "+definition.object.GetName()+" to be established", func(ctx context.Context) error {
			found, err := definition.client.Get(ctx, definition.object.GetName(), metav1.GetOptions{})
			if err != nil {
				return err
			}
			return hasCondition(found, "Established")
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// configure creates the one ConfigMap that Fleet's programs read.
func (c fleetClient) configure(ctx context.Context, manageAgents bool) error {
	config, err := json.Marshal(map[string]any{
		"apiServerURL": c.cluster.Host(),
		"apiServerCA":  c.cluster.CACertificate(),
		"agentTLSMode": "strict", // No other system trusts the certificate.
		// true creates a Bundle for each agent, which updates the agent. Simulated clusters have
		// none.
		"manageAgent": manageAgents,
	})
	if err != nil {
		return fmt.Errorf("encoding the configuration of Fleet: %w", err)
	}
	configMap := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "fleet-controller"},
		Data:       map[string]string{"config": string(config)},
	}
	if _, err := c.client.CoreV1().ConfigMaps(fleetSystem).Create(ctx, configMap, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating the configuration of Fleet: %w", err)
	}
	return nil
}

// renderFleetChart renders templates of Fleet's chart that use no function of Helm.
func renderFleetChart(content string) ([]byte, error) {
	parsed, err := template.New(fleetRBAC).Parse(content)
	if err != nil {
		return nil, fmt.Errorf("parsing a template of Fleet's chart: %w", err)
	}
	data := map[string]any{
		"Release": map[string]any{"Namespace": fleetSystem},
		// As with --disable-bootstrap: Fleet does not deliver to the management cluster.
		"Values": map[string]any{"bootstrap": map[string]any{"enabled": false}},
	}
	var rendered bytes.Buffer
	if err := parsed.Execute(&rendered, data); err != nil {
		return nil, fmt.Errorf("rendering a template of Fleet's chart: %w", err)
	}
	return rendered.Bytes(), nil
}

// A createdObject is an object with a client that can read it again.
type createdObject struct {
	client dynamic.ResourceInterface
	object *unstructured.Unstructured
}

// create creates the objects of a file. Objects that need a namespace and name none are created in
// Fleet's namespace.
func (c fleetClient) create(ctx context.Context, content []byte) ([]createdObject, error) {
	groups, err := restmapper.GetAPIGroupResources(c.client.Discovery())
	if err != nil {
		return nil, fmt.Errorf("looking for the kinds of the API server: %w", err)
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	var created []createdObject
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return created, nil
		} else if err != nil {
			return nil, fmt.Errorf("reading an object of Fleet's chart: %w", err)
		}
		if len(object.Object) == 0 {
			continue
		}
		kind := object.GroupVersionKind()
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return nil, fmt.Errorf("looking for kind %s: %w", kind, err)
		}
		var client dynamic.ResourceInterface = c.dynamic.Resource(mapping.Resource)
		if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
			client = c.dynamic.Resource(mapping.Resource).Namespace(cmp.Or(object.GetNamespace(), fleetSystem))
		}
		if _, err := client.Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return nil, fmt.Errorf("creating %s %s: %w", kind.Kind, object.GetName(), err)
		}
		created = append(created, createdObject{client: client, object: object})
	}
}

// register creates the objects with which an administrator adds a cluster.
func (c fleetClient) register(ctx context.Context, cluster FleetCluster, kubeconfig []byte) error {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: cluster.Name + "-kubeconfig"},
		Data:       map[string][]byte{"value": kubeconfig},
	}
	if _, err := c.client.CoreV1().Secrets(FleetNamespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating the Secret with its kubeconfig: %w", err)
	}
	return c.addCluster(ctx, cluster, map[string]any{"kubeConfigSecret": secret.Name})
}

// addCluster creates a Cluster object. spec is added to the specification.
func (c fleetClient) addCluster(ctx context.Context, cluster FleetCluster, spec map[string]any) error {
	if cluster.TemplateValues != nil {
		spec["templateValues"] = cluster.TemplateValues
	}
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": fleetClusters().GroupVersion().String(),
		"kind":       "Cluster",
		"spec":       spec,
	}}
	object.SetName(cluster.Name)
	object.SetLabels(cluster.Labels)
	object.SetAnnotations(cluster.Annotations)
	if _, err := c.clusters().Create(ctx, object, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating the Cluster object %s: %w", cluster.Name, err)
	}
	return nil
}

// awaitImport waits until Fleet has recorded that it deployed the agent of a cluster. Until then it
// may do so again. It first deletes what it has created, and forgets when the agent was seen.
func (c fleetClient) awaitImport(ctx context.Context, cluster string) error {
	return c.wait(ctx, "Fleet to record that it deployed the agent", func(ctx context.Context) error {
		found, err := c.clusters().Get(ctx, cluster, metav1.GetOptions{})
		if err != nil {
			return err
		}
		_, deployed, err := unstructured.NestedInt64(found.Object, "status", "agentDeployedGeneration")
		if err != nil {
			return err
		}
		isPending, _, err := unstructured.NestedBool(found.Object, "status", "agentConfigChanged")
		if err != nil {
			return err
		}
		if !deployed || isPending {
			return errors.New("it has not")
		}
		return nil
	})
}

// awaitAgentManagement waits for the objects that an agent registers with, or has registered with.
// An agent that misses the Secret tries again only after a minute.
func (c fleetClient) awaitAgentManagement(ctx context.Context) error {
	return c.wait(ctx, "agent management to prepare the cluster", func(ctx context.Context) error {
		if _, err := c.client.CoreV1().ConfigMaps(fleetSystem).Get(ctx, "fleet-agent", metav1.GetOptions{}); err != nil {
			return err
		}
		secrets := c.client.CoreV1().Secrets(fleetSystem)
		_, err := secrets.Get(ctx, "fleet-agent-bootstrap", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			_, err = secrets.Get(ctx, "fleet-agent", metav1.GetOptions{}) // With this one, the agent has deleted the other one.
		}
		return err
	})
}

// awaitCheckIn waits until the agent of a cluster was seen at or after a time.
func (c fleetClient) awaitCheckIn(ctx context.Context, cluster string, since time.Time) error {
	return c.wait(ctx, "the agent to check in", func(ctx context.Context) error {
		at, err := c.lastSeen(ctx, cluster)
		if err != nil {
			return err
		}
		if at.Before(since) {
			return fmt.Errorf("it was last seen at %s, before its start at %s", at, since)
		}
		return nil
	})
}

// clusters returns a client for the Cluster objects of the Fleet.
func (c fleetClient) clusters() dynamic.ResourceInterface {
	return c.dynamic.Resource(fleetClusters()).Namespace(FleetNamespace)
}

// lastSeen returns when an agent last checked in.
func (c fleetClient) lastSeen(ctx context.Context, cluster string) (time.Time, error) {
	found, err := c.clusters().Get(ctx, cluster, metav1.GetOptions{})
	if err != nil {
		return time.Time{}, err
	}
	seen, _, err := unstructured.NestedString(found.Object, "status", "agent", "lastSeen")
	if err != nil {
		return time.Time{}, err
	}
	at, err := time.Parse(time.RFC3339, seen)
	if err != nil {
		return time.Time{}, fmt.Errorf("it was last seen at %q: %w", seen, err)
	}
	return at, nil
}

func hasCondition(object *unstructured.Unstructured, name string) error {
	conditions, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
	if err != nil {
		return err
	}
	for _, each := range conditions {
		if condition, ok := each.(map[string]any); ok && condition["type"] == name && condition["status"] == string(metav1.ConditionTrue) {
			return nil
		}
	}
	return fmt.Errorf("%s is not %s", object.GetName(), name)
}
