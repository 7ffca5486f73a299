package kube

import (
	"context"
	"fmt"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/retry"
)

// definition is a kind that a cluster has to serve.
type definition struct {
	name     string // of the object that defines it
	kind     schema.GroupKind
	versions []string
}

func isDefinition(object *unstructured.Unstructured) bool {
	return object.GroupVersionKind().GroupKind() == schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
}

// definitionOf reads a custom resource definition.
func definitionOf(object *unstructured.Unstructured) (definition, error) {
	var content struct {
		Spec struct {
			Group string `json:"group"`
			Names struct {
				Kind string `json:"kind"`
			} `json:"names"`
			Versions []struct {
				Name   string `json:"name"`
				Served bool   `json:"served"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &content); err != nil {
		return definition{}, fmt.Errorf("reading %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	defined := definition{
		name: object.GetKind() + " " + object.GetName(),
		kind: schema.GroupKind{Group: content.Spec.Group, Kind: content.Spec.Names.Kind},
	}
	for _, version := range content.Spec.Versions {
		if version.Served {
			defined.versions = append(defined.versions, version.Name)
		}
	}
	return defined, nil
}

// waitServed returns when discovery lists the kinds that objects define. Discovery lists a kind a
// moment after its definition is established, and the next caller has to find it. If ctx ends
// first, the *NotReadyError contains the definitions whose kinds are missing.
func (c *Client) waitServed(ctx context.Context, definitions []*unstructured.Unstructured) error {
	if len(definitions) == 0 {
		return nil
	}
	kinds := make([]definition, len(definitions))
	for i, object := range definitions {
		var err error
		if kinds[i], err = definitionOf(object); err != nil {
			return err
		}
	}
	var last error
	retry.Until(ctx, retry.Discovery(), func() bool {
		last = c.served(kinds)
		return last == nil
	})
	return last
}

// served checks the kinds once. It reads discovery again if a kind is missing.
func (c *Client) served(kinds []definition) error {
	var left []Condition
	for _, defined := range kinds {
		for _, version := range defined.versions {
			_, err := c.mapper.RESTMapping(defined.kind, version)
			if meta.IsNoMatchError(err) {
				left = append(left, Condition{
					Object: defined.name, Status: status.InProgressStatus.String(),
					Message: fmt.Sprintf("the kind %s is not served as %s yet", defined.kind.Kind, version),
				})
				break
			}
			if err != nil {
				return fmt.Errorf("looking up the kind %s: %w", defined.kind.Kind, err)
			}
		}
	}
	if len(left) > 0 {
		return &NotReadyError{Objects: left}
	}
	return nil
}
