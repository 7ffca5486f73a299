package kube

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/restmapper"
)

var _ meta.ResettableRESTMapper = (*mapper)(nil)

// mapper maps a kind with the mapper of its API group alone. client-go's own mapper first makes the
// mappers of all groups, some thirty on a bare cluster, although a release needs two or three. Lookups
// of resources, which no caller makes, are left to client-go.
//
// mapper reads discovery again when it does not find a kind, because one release can add the kinds of
// the next. client-go's own mapper does so only with a discovery that is cached on disk. A discovery
// cached in memory always reports that it is fresh (client-go/discovery/cached/memory, Fresh).
type mapper struct {
	meta.ResettableRESTMapper

	discovery discovery.CachedDiscoveryInterface

	mu sync.Mutex
	// readings counts how often discovery was read again.
	readings int
	// groups are the API groups from discovery, by name, nil until discovery is read.
	groups  map[string]*restmapper.APIGroupResources
	mappers map[string]meta.RESTMapper
}

func newMapper(found discovery.CachedDiscoveryInterface) *mapper {
	return &mapper{ResettableRESTMapper: restmapper.NewDeferredDiscoveryRESTMapper(found), discovery: found}
}

// Reset makes the next lookup read discovery again.
func (m *mapper) Reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reset()
}

func (m *mapper) reset() {
	m.readings++
	m.groups, m.mappers = nil, nil
	m.ResettableRESTMapper.Reset()
}

// resetUnless is Reset, unless discovery was read again since the caller has found a number of readings.
func (m *mapper) resetUnless(readings int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.readings == readings {
		m.reset()
	}
}

// RESTMapping returns the mapping of a kind, and a *meta.NoKindMatchError for a kind that the cluster
// does not have.
func (m *mapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	found, readings, err := m.lookUp(kind, versions...)
	if !meta.IsNoMatchError(err) {
		return found, err
	}
	m.resetUnless(readings)
	found, _, err = m.lookUp(kind, versions...)
	return found, err
}

// lookUp is RESTMapping with the discovery that was read before, if there is one. readings is the
// number of its reading.
func (m *mapper) lookUp(kind schema.GroupKind, versions ...string) (found *meta.RESTMapping, readings int, err error) {
	of, readings, err := m.mapperOf(kind.Group)
	if err != nil {
		return nil, readings, err
	}
	found, err = of.RESTMapping(kind, versions...)
	return found, readings, err
}

func (m *mapper) mapperOf(group string) (of meta.RESTMapper, readings int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.groups == nil {
		found, err := restmapper.GetAPIGroupResources(m.discovery)
		if err != nil {
			return nil, m.readings, fmt.Errorf("reading the API groups of the cluster: %w", err)
		}
		m.groups, m.mappers = make(map[string]*restmapper.APIGroupResources, len(found)), map[string]meta.RESTMapper{}
		for _, of := range found {
			m.groups[of.Group.Name] = of
		}
	}
	if made, ok := m.mappers[group]; ok {
		return made, m.readings, nil
	}
	var only []*restmapper.APIGroupResources
	if of, ok := m.groups[group]; ok {
		only = append(only, of)
	}
	m.mappers[group] = restmapper.NewDiscoveryRESTMapper(only)
	return m.mappers[group], m.readings, nil
}
