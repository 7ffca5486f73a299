package helm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/pager"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// Wanted are objects that a release is to hold and does not hold yet.
type Wanted struct {
	// Release and Namespace name the release, and Former the one it moves from, as
	// release.Key, "" if it does not.
	Release, Namespace, Former string
	Objects                    []release.Object
}

// Occupied is an object that is there already and that Helm does not count as part
// of the release that wants it.
type Occupied struct {
	Wanted Wanted
	Object release.Object
	// Holder is who has it: "release x in namespace y", "Fleet's agent" or "no
	// release".
	Holder string
	// Release is the release that has it, as release.Key, "" for none.
	Release string
}

// Annotations and labels by which Helm and Fleet know their objects.
const (
	releaseNameAnnotation      = "meta.helm.sh/release-name"
	releaseNamespaceAnnotation = "meta.helm.sh/release-namespace"
	managedByLabel             = "app.kubernetes.io/managed-by"
	objectSetLabel             = "objectset.rio.cattle.io/hash"
)

// lookups is how many requests of one look are under way.
const lookups = 8

// place of objects that one request can answer for.
type group struct {
	resource  schema.GroupVersionResource
	namespace string
}

type member struct {
	wanted Wanted
	object release.Object
}

// Occupied finds objects that are there already, reading metadata only. A kind that
// the cluster does not know has no objects, and one that may not be read is left out:
// the answer is for a warning.
func (c *Client) Occupied(ctx context.Context, wanted []Wanted) ([]Occupied, error) {
	groups, err := c.groups(wanted)
	if err != nil {
		return nil, err
	}
	var (
		mu       sync.Mutex
		occupied []Occupied
	)
	return occupied, c.eachThere(ctx, groups, func(_ group, member member, live metav1.Object) {
		if holder, of, other := holderOf(live, member.wanted); other {
			mu.Lock()
			defer mu.Unlock()
			occupied = append(occupied, Occupied{Wanted: member.wanted, Object: member.object, Holder: holder, Release: of})
		}
	}, apierrors.IsForbidden)
}

// eachThere calls do with every member that is there, with several at once. Kinds whose
// error is passed over count as if none of theirs were.
func (c *Client) eachThere(ctx context.Context, groups map[group][]member, do func(at group, of member, live metav1.Object), passOver func(error) bool) error {
	config, err := c.getter.ToRESTConfig()
	if err != nil {
		return fmt.Errorf("reading the connection: %w", err)
	}
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	looking, ctx := errgroup.WithContext(ctx)
	looking.SetLimit(lookups)
	for at, members := range groups {
		looking.Go(func() error {
			objects := client.Resource(at.resource).Namespace(at.namespace)
			there, err := existing(ctx, objects, members)
			if apierrors.IsForbidden(err) && !passOver(err) { // Who may not list may read single ones.
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
		})
	}
	return looking.Wait()
}

// groups puts together what one list can answer for.
func (c *Client) groups(wanted []Wanted) (map[group][]member, error) {
	mapper, err := c.getter.ToRESTMapper()
	if err != nil {
		return nil, fmt.Errorf("reading the kinds of the cluster: %w", err)
	}
	groups := map[group][]member{}
	for _, of := range wanted {
		for _, object := range of.Objects {
			if strings.HasSuffix(object.Name, manifest.GeneratedName) {
				continue // The cluster will give it a name that is free.
			}
			mapping, err := mapper.RESTMapping(schema.GroupKind{Group: object.Group, Kind: object.Kind})
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

// errFound ends a list that has answered everything.
var errFound = errors.New("all found")

// existing reads the members of a group that are there, by name: a few one by one,
// more of them with a list.
func existing(ctx context.Context, client metadata.ResourceInterface, members []member) (map[string]metav1.Object, error) {
	const few = 2
	wanted := namesOf(members)
	if len(wanted) <= few {
		return existingByName(ctx, client, wanted)
	}
	there := map[string]metav1.Object{}
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return client.List(ctx, options)
	})
	err := pages.EachListItem(ctx, metav1.ListOptions{}, func(item runtime.Object) error {
		object, ok := item.(metav1.Object)
		if ok && wanted[object.GetName()] {
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
	return there, nil
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

// holderOf says who has an object, in words and, if it is a release, as release.Key,
// and whether that is another than the release that wants it.
func holderOf(object metav1.Object, wanted Wanted) (holder, of string, other bool) {
	annotations, labels := object.GetAnnotations(), object.GetLabels()
	name, namespace := annotations[releaseNameAnnotation], annotations[releaseNamespaceAnnotation]
	own := release.Key(wanted.Namespace, wanted.Release)
	switch at := release.Key(namespace, name); {
	case name == "" && labels[objectSetLabel] != "":
		return "Fleet's agent", "", true
	case name == "":
		return "no release", "", true
	case at == own && labels[managedByLabel] != "Helm":
		return fmt.Sprintf("release %s in namespace %s", name, namespace), "", true // Helm does not take the note for its own.
	case at == wanted.Former, at == own:
		return "", "", false
	default:
		return fmt.Sprintf("release %s in namespace %s", name, namespace), at, true
	}
}
