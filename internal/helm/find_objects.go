package helm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// lookups is how many requests of one call run in parallel.
const lookups = 8

// group is a resource and a namespace whose objects one list request can return.
type group struct {
	resource  schema.GroupVersionResource
	namespace string
}

type member struct {
	wanted release.Wanted
	object diff.Object
}

// groupsOf groups objects so that one list request can return each group.
func groupsOf(cluster Cluster, wanted []release.Wanted) (map[group][]member, error) {
	groups := map[group][]member{}
	for _, of := range wanted {
		for _, object := range of.Objects {
			if strings.HasSuffix(object.Name, manifest.GeneratedName) {
				continue // The cluster will generate a free name.
			}
			mapping, err := cluster.Mapper().RESTMapping(schema.GroupKind{Group: object.Group, Kind: object.Kind})
			if meta.IsNoMatchError(err) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("reading the kinds of the cluster: %w", err)
			}
			at := group{resource: mapping.Resource}
			if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
				at.namespace = object.Namespace
			}
			groups[at] = append(groups[at], member{wanted: of, object: object})
		}
	}
	return groups, nil
}

// eachThere calls do for every member that exists, for several groups in parallel. If passOver
// returns true for the error of a kind, the objects of the kind count as missing.
func eachThere(
	ctx context.Context, cluster Cluster, groups map[group][]member,
	do func(at group, of member, live metav1.Object), passOver func(error) bool,
) error {
	looking, ctx := errgroup.WithContext(ctx)
	looking.SetLimit(lookups)
	for at, members := range groups {
		looking.Go(panics.Recovering("looking for objects", func() error {
			objects := cluster.Metadata().Resource(at.resource).Namespace(at.namespace)
			there, err := existing(ctx, objects, members)
			if apierrors.IsForbidden(err) && !passOver(err) { // A user who may not list may still get single objects.
				there, err = existingByName(ctx, objects, namesOf(members))
			}
			if err != nil && passOver(err) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("looking for %s: %w", at.resource.Resource, err)
			}
			for _, member := range members {
				if object, ok := there[member.object.Name]; ok {
					do(at, member, object)
				}
			}
			return nil
		}))
	}
	return looking.Wait()
}

// errFound stops a list when all wanted objects are found.
var errFound = errors.New("all found")

// existing reads the members of a group that exist, by name. It gets a few one by one, and
// lists for more.
func existing(ctx context.Context, client metadata.ResourceInterface, members []member) (map[string]metav1.Object, error) {
	const few = 2
	wanted := namesOf(members)
	if len(wanted) <= few {
		return existingByName(ctx, client, wanted)
	}
	there := map[string]metav1.Object{}
	leftOut, err := eachMetadata(ctx, client, "", maxNamespace, func(object *metav1.PartialObjectMetadata) error {
		if wanted[object.GetName()] {
			there[object.GetName()] = object
		}
		if len(there) == len(wanted) {
			return errFound
		}
		return nil
	})
	if err != nil && !errors.Is(err, errFound) {
		return nil, err
	}
	if len(leftOut) == 0 {
		return there, nil
	}
	maps.DeleteFunc(wanted, func(name string, _ bool) bool { return there[name] != nil })
	others, err := existingByName(ctx, client, wanted)
	maps.Copy(there, others)
	return there, err
}

func namesOf(members []member) map[string]bool {
	names := make(map[string]bool, len(members))
	for _, member := range members {
		names[member.object.Name] = true
	}
	return names
}

func existingByName(ctx context.Context, client metadata.ResourceInterface, wanted map[string]bool) (map[string]metav1.Object, error) {
	there := map[string]metav1.Object{}
	for name := range wanted {
		object, err := client.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		there[name] = object
	}
	return there, nil
}
