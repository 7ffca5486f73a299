package kube

import (
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var _ meta.ResettableRESTMapper = (*mapper)(nil)

// mapper reads discovery again when it does not find a kind, because one release can add the kinds
// of the next. client-go's own mapper does so only with a discovery that is cached on disk. A
// discovery cached in memory always reports that it is fresh (client-go/discovery/cached/memory,
// Fresh).
type mapper struct {
	meta.ResettableRESTMapper

	mu sync.Mutex
	// readings counts how often discovery was read again.
	readings int
}

// Reset makes the next lookup read discovery again.
func (m *mapper) Reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.readings++
	m.ResettableRESTMapper.Reset()
}

func (m *mapper) read() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.readings
}

// readAgain makes the next lookup read discovery again, unless readings has changed since then.
func (m *mapper) readAgain(since int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.readings > since {
		return
	}
	m.readings++
	m.ResettableRESTMapper.Reset()
}

func again[T any](m *mapper, look func() (T, error)) (T, error) {
	since := m.read()
	found, err := look()
	if !meta.IsNoMatchError(err) {
		return found, err
	}
	m.readAgain(since)
	return look()
}

func (m *mapper) KindFor(r schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	return again(m, func() (schema.GroupVersionKind, error) { return m.ResettableRESTMapper.KindFor(r) })
}

func (m *mapper) KindsFor(r schema.GroupVersionResource) ([]schema.GroupVersionKind, error) {
	return again(m, func() ([]schema.GroupVersionKind, error) { return m.ResettableRESTMapper.KindsFor(r) })
}

func (m *mapper) ResourceFor(r schema.GroupVersionResource) (schema.GroupVersionResource, error) {
	return again(m, func() (schema.GroupVersionResource, error) { return m.ResettableRESTMapper.ResourceFor(r) })
}

func (m *mapper) ResourcesFor(r schema.GroupVersionResource) ([]schema.GroupVersionResource, error) {
	return again(m, func() ([]schema.GroupVersionResource, error) { return m.ResettableRESTMapper.ResourcesFor(r) })
}

func (m *mapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	return again(m, func() (*meta.RESTMapping, error) { return m.ResettableRESTMapper.RESTMapping(kind, versions...) })
}

func (m *mapper) RESTMappings(kind schema.GroupKind, versions ...string) ([]*meta.RESTMapping, error) {
	return again(m, func() ([]*meta.RESTMapping, error) { return m.ResettableRESTMapper.RESTMappings(kind, versions...) })
}
