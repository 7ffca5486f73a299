package helm

import (
	"slices"

	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v3/pkg/kube"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// writes is how many objects are written at the same time.
const writes = 32

// batches splits a list, which is in Helm's order, into parts. The objects of a part do not
// depend on each other: they are of one kind, or of kinds that only contain data. An object
// that is in the list twice is in two parts, so that it is written twice in order.
func batches(objects kube.ResourceList) []kube.ResourceList {
	var (
		parts []kube.ResourceList
		seen  map[string]bool
	)
	for i, object := range objects {
		key := object.Mapping.GroupVersionKind.Kind + " " + release.Key(object.Namespace, object.Name)
		if i == 0 || !isIndependent(objects[i-1], object) || seen[key] {
			parts, seen = append(parts, nil), map[string]bool{}
		}
		seen[key] = true
		parts[len(parts)-1] = append(parts[len(parts)-1], object)
	}
	return parts
}

// isIndependent reports whether an object can be written together with the one before it. A
// token does not last unless its service account exists.
func isIndependent(before, object *resource.Info) bool {
	if isToken(before) || isToken(object) {
		return isToken(before) && isToken(object)
	}
	same := before.Mapping.GroupVersionKind == object.Mapping.GroupVersionKind
	return same || isDataOnly(before) && isDataOnly(object)
}

// isDataOnly reports whether an object is of a kind that only contains data and does nothing by
// itself.
func isDataOnly(object *resource.Info) bool {
	kind := object.Mapping.GroupVersionKind
	return kind.Group == "" && slices.Contains([]string{"ServiceAccount", "Secret", "ConfigMap", "Service"}, kind.Kind)
}

func isToken(object *resource.Info) bool {
	content, ok := object.Object.(*unstructured.Unstructured)
	if !ok || object.Mapping.GroupVersionKind.GroupKind() != (schema.GroupKind{Kind: "Secret"}) {
		return false
	}
	of, _, _ := unstructured.NestedString(content.Object, "type")
	return of == string(corev1.SecretTypeServiceAccountToken)
}

// each writes objects in parallel. It writes all of them, also after an error, and returns the
// errors in the order of the objects.
func each(objects kube.ResourceList, write func(object *resource.Info) error) []error {
	var writing errgroup.Group
	writing.SetLimit(writes)
	errs := make([]error, len(objects))
	for i, object := range objects {
		writing.Go(func() error {
			errs[i] = panics.Recovering("writing "+titleOf(object), func() error { return write(object) })()
			return nil
		})
	}
	_ = writing.Wait() // Each object has its own error.
	return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}
