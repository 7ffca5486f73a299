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
// first, waitServed returns the definitions whose kinds are missing.
func (c *Client) waitServed(ctx context.Context, definitions []*unstructured.Unstructured) (missing []Condition, err error) {
	kinds := make([]definition, len(definitions))
	for i, object := range definitions {
		if kinds[i], err = definitionOf(object); err != nil {
			return nil, err
		}
	}
	retry.Until(ctx, retry.Discovery(), func() bool {
		missing, err = c.unserved(kinds)
		return err == nil && len(missing) == 0
	})
	return missing, err
}

// unserved returns the definitions whose kinds are missing. It reads discovery again if one is.
func (c *Client) unserved(kinds []definition) (missing []Condition, err error) {
	for _, defined := range kinds {
		for _, version := range defined.versions {
			_, err := c.mapper.RESTMapping(defined.kind, version)
			if meta.IsNoMatchError(err) {
				missing = append(missing, Condition{
					Object: defined.name, Status: status.InProgressStatus.String(),
					Message: fmt.Sprintf("the kind %s is not served as %s yet", defined.kind.Kind, version),
				})
				break
			}
			if err != nil {
				return nil, fmt.Errorf("looking up the kind %s: %w", defined.kind.Kind, err)
			}
		}
	}
	return missing, nil
}
