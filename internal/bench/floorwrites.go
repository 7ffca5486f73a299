package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// runFloor runs as a process of its own and makes the writes of one step.
func runFloor(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("floor", flag.ContinueOnError)
	path := flags.String("writes", "", "`file` with what is written")
	name := flags.String("step", "", "which `step` to make")
	kubeconfig := flags.String("kubeconfig", "", "`file` that says where the clusters are")
	contexts := flags.String("contexts", "", "`names` of the clusters, separated by commas")
	seen := flags.Bool("seen", false, "wait until the clusters have done their part")
	if err := flags.Parse(args); err != nil {
		return err
	}
	content, err := os.ReadFile(*path)
	if err != nil {
		return fmt.Errorf("reading what to write: %w", err)
	}
	var plan writes
	if err := json.Unmarshal(content, &plan); err != nil {
		return fmt.Errorf("reading what to write: %w", err)
	}
	group, ctx := errgroup.WithContext(ctx)
	for cluster := range strings.SplitSeq(*contexts, ",") {
		group.Go(func() error {
			if err := plan.write(ctx, *kubeconfig, cluster, step(*name), *seen); err != nil {
				return fmt.Errorf("cluster %s: %w", cluster, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// write makes the writes of the step on one cluster, as fast as the cluster accepts them.
func (w writes) write(ctx context.Context, kubeconfig, cluster string, s step, seen bool) error {
	config, err := clientConfig(kubeconfig, cluster)
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	in := inNamespace{client: client, namespace: w.Namespace}
	switch s {
	case install:
		err = in.install(ctx, append(w.Objects, w.Records[0]...))
	case change:
		err = in.change(ctx, w.Patches, w.Records[1])
	case restore:
		if err = in.create(ctx, append(w.Objects, w.Records[0]...)); err == nil {
			err = in.change(ctx, w.Patches, w.Records[1])
		}
	case remove, destroy:
		err = in.delete(ctx, append(append(w.Objects, w.Records[0]...), w.Records[1]...))
	case nothing:
		return nil
	}
	if err != nil || !seen {
		return err
	}
	return w.see(ctx, config, s)
}

// see waits until the Deployments are rolled out or removed.
func (w writes) see(ctx context.Context, config *rest.Config, s step) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	count := 0
	if s == install || s == change || s == restore {
		for _, object := range w.Objects {
			if object.GetKind() == "Deployment" {
				count++
			}
		}
	}
	return awaitDeployments(ctx, client, w.Namespace, count)
}

// inNamespace writes to one namespace, everything at once.
type inNamespace struct {
	client    dynamic.Interface
	namespace string
}

// resource returns the client of a kind, without discovery.
func (n inNamespace) resource(kind string) dynamic.ResourceInterface {
	group := ""
	if kind == "Deployment" {
		group = "apps"
	}
	plural := strings.ToLower(kind) + "s"
	return n.client.Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: plural}).Namespace(n.namespace)
}

func (n inNamespace) install(ctx context.Context, objects []*unstructured.Unstructured) error {
	namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": n.namespace}}}
	resource := n.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	if _, err := resource.Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return err
	}
	return n.create(ctx, objects)
}

func (n inNamespace) create(ctx context.Context, objects []*unstructured.Unstructured) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, object := range objects {
		group.Go(func() error {
			_, err := n.resource(object.GetKind()).Create(ctx, object, metav1.CreateOptions{})
			return err
		})
	}
	return group.Wait()
}

func (n inNamespace) change(ctx context.Context, patches []patch, records []*unstructured.Unstructured) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, p := range patches {
		group.Go(func() error {
			_, err := n.resource(p.Kind).Patch(ctx, p.Name, types.MergePatchType, p.Body, metav1.PatchOptions{})
			return err
		})
	}
	group.Go(func() error { return n.create(ctx, records) })
	return group.Wait()
}

func (n inNamespace) delete(ctx context.Context, objects []*unstructured.Unstructured) error {
	background := metav1.DeletePropagationBackground
	group, ctx := errgroup.WithContext(ctx)
	for _, object := range objects {
		group.Go(func() error {
			err := n.resource(object.GetKind()).Delete(ctx, object.GetName(), metav1.DeleteOptions{PropagationPolicy: &background})
			if apierrors.IsNotFound(err) {
				return nil // There is no second revision if nothing was changed.
			}
			return err
		})
	}
	return group.Wait()
}
