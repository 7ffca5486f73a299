package kube

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/restmapper"
)

// groupMapper maps a kind with the mapper of its API group alone. client-go's own mapper first
// makes the mappers of all groups, some thirty on a bare cluster, although a release needs two or
// three. Lookups without a group are left to client-go.
type groupMapper struct {
	meta.ResettableRESTMapper

	discovery discovery.CachedDiscoveryInterface

	mu sync.Mutex
	// groups are the API groups from discovery, by name, nil until discovery is read.
	groups  map[string]*restmapper.APIGroupResources
	mappers map[string]meta.RESTMapper
}

func newGroupMapper(found discovery.CachedDiscoveryInterface) *groupMapper {
	return &groupMapper{ResettableRESTMapper: restmapper.NewDeferredDiscoveryRESTMapper(found), discovery: found}
}

// Reset makes the next lookup read discovery again.
func (g *groupMapper) Reset() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.groups, g.mappers = nil, nil
	g.ResettableRESTMapper.Reset()
}

// RESTMapping returns the mapping of a kind, and a *meta.NoKindMatchError for a kind that
// the cluster does not have.
func (g *groupMapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	of, err := g.mapperOf(kind.Group)
	if err != nil {
		return nil, err
	}
	return of.RESTMapping(kind, versions...)
}

// RESTMappings returns all mappings of a kind.
func (g *groupMapper) RESTMappings(kind schema.GroupKind, versions ...string) ([]*meta.RESTMapping, error) {
	of, err := g.mapperOf(kind.Group)
	if err != nil {
		return nil, err
	}
	return of.RESTMappings(kind, versions...)
}

func (g *groupMapper) mapperOf(group string) (meta.RESTMapper, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.groups == nil {
		found, err := restmapper.GetAPIGroupResources(g.discovery)
		if err != nil {
			return nil, fmt.Errorf("reading the API groups of the cluster: %w", err)
		}
		g.groups, g.mappers = make(map[string]*restmapper.APIGroupResources, len(found)), map[string]meta.RESTMapper{}
		for _, of := range found {
			g.groups[of.Group.Name] = of
		}
	}
	if made, ok := g.mappers[group]; ok {
		return made, nil
	}
	var only []*restmapper.APIGroupResources
	if of, ok := g.groups[group]; ok {
		only = append(only, of)
	}
	g.mappers[group] = restmapper.NewDiscoveryRESTMapper(only)
	return g.mappers[group], nil
}
