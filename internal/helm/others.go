package helm

import (
	"context"
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// takenObjects are the keys of those objects of a release that another release has
// taken over since: Helm notes on each object which release it is of. They stay when
// the former release goes.
func (c *Client) takenObjects(ctx context.Context, from release.Observed, objects []release.Object) (map[string]bool, error) {
	occupied, err := c.Occupied(ctx, []Wanted{{Release: from.Release, Namespace: from.Namespace, Objects: objects}})
	if err != nil {
		return nil, fmt.Errorf("looking which objects other releases have taken over: %w", err)
	}
	taken := map[string]bool{}
	for _, found := range occupied {
		if found.Release != "" {
			taken[found.Object.Key()] = true
		}
	}
	return taken, nil
}

// withoutTaken leaves those objects out of the ones of the revision before that the
// next one drops and that another release has taken over since. Helm would delete
// them.
func (k *kubeClient) withoutTaken(original, target kube.ResourceList) (kube.ResourceList, error) {
	dropped := original.Difference(target)
	left := slices.Clone(original)
	for _, info := range dropped {
		taken, err := k.isTaken(info)
		if err != nil {
			return nil, err
		}
		if taken {
			left = slices.DeleteFunc(left, func(other *resource.Info) bool { return other == info })
		}
	}
	return left, nil
}

func (k *kubeClient) isTaken(info *resource.Info) (bool, error) {
	live, err := resource.NewHelper(info.Client, info.Mapping).Get(info.Namespace, info.Name)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking who holds %s %s: %w", info.Mapping.GroupVersionKind.Kind, info.Name, err)
	}
	annotations, err := meta.NewAccessor().Annotations(live)
	if err != nil {
		return false, fmt.Errorf("reading the annotations of %s %s: %w", info.Mapping.GroupVersionKind.Kind, info.Name, err)
	}
	holder := release.Key(annotations[releaseNamespaceAnnotation], annotations[releaseNameAnnotation])
	return annotations[releaseNameAnnotation] != "" && holder != k.release, nil
}
