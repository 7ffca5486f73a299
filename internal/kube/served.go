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

// definition is what has to be known of a custom resource definition.
type definition struct {
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

func isDefinition(object *unstructured.Unstructured) bool {
	return object.GroupVersionKind().GroupKind() == schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
}

// waitServed returns when discovery lists the kinds that objects define. Discovery lists a kind a
// moment after its definition is established, and the next caller has to find it. If ctx ends
// first, waitServed returns the definitions whose kinds are missing.
func (c *Client) waitServed(ctx context.Context, definitions []*unstructured.Unstructured) (missing []Condition, err error) {
	defined := make([]definition, len(definitions))
	for i, object := range definitions {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &defined[i]); err != nil {
			return nil, fmt.Errorf("reading %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	retry.Until(ctx, retry.Discovery(), func() bool {
		missing = nil
		for i, object := range definitions {
			var message string
			if message, err = c.unserved(defined[i]); err != nil {
				return false
			}
			if message != "" {
				missing = append(missing, Condition{
					Object: object.GetKind() + " " + object.GetName(), Status: status.InProgressStatus.String(), Message: message,
				})
			}
		}
		return len(missing) == 0
	})
	return missing, err
}

// unserved says which kind of a definition is not served, "" if each is. It reads discovery again if one
// is not.
func (c *Client) unserved(defined definition) (message string, err error) {
	kind := schema.GroupKind{Group: defined.Spec.Group, Kind: defined.Spec.Names.Kind}
	for _, version := range defined.Spec.Versions {
		if !version.Served {
			continue
		}
		_, err := c.mapper.RESTMapping(kind, version.Name)
		if meta.IsNoMatchError(err) {
			return fmt.Sprintf("the kind %s is not served as %s yet", kind.Kind, version.Name), nil
		}
		if err != nil {
			return "", fmt.Errorf("looking up the kind %s: %w", kind.Kind, err)
		}
	}
	return "", nil
}
