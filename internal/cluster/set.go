// Package cluster connects to the clusters of one configured provider. It finds an entry by its
// name, creates its client once, and carries out the requests of packages run and preview on it.
package cluster

import (
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/helm"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube/connect"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/state"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Entry is one cluster of the provider's configuration.
type Entry struct {
	Facts        target.Cluster
	FactsUnknown bool
	// UnknownLabels are keys of labels whose values are not known yet. Facts do not have them.
	UnknownLabels     []string
	Connection        connect.Connection
	ConnectionUnknown bool
	// UID is the identity that the cluster must have, "" for any.
	UID string
}

// Set contains the clusters that can be connected to. It opens no connection before a client is
// used.
type Set struct {
	entries map[string]*entry
	// former are clusters that are in the state and no longer in the configuration.
	former map[string]*entry
	shared *shared
}

// entry is an Entry with its client, once that is created.
type entry struct {
	Entry

	mu     sync.Mutex
	client *Client
}

// shared is what all clients share.
type shared struct {
	charts      *render.Charts
	masker      *mask.Masker
	records     helm.RecordCache
	kubeconfigs connect.Kubeconfigs
}

// NewSet makes a set of the entries of a configuration, by name.
func NewSet(entries map[string]Entry, charts *render.Charts, masker *mask.Masker) *Set {
	return &Set{entries: entriesOf(entries), shared: &shared{charts: charts, masker: masker}}
}

func entriesOf(entries map[string]Entry) map[string]*entry {
	made := make(map[string]*entry, len(entries))
	for name, of := range entries {
		made[name] = &entry{Entry: of}
	}
	return made
}

// WithFormer returns the set with clusters whose connections are stored in the state. An entry of
// the configuration takes precedence.
func (s *Set) WithFormer(former map[string]Entry) *Set {
	if len(former) == 0 {
		return s
	}
	return &Set{entries: s.entries, former: entriesOf(former), shared: s.shared}
}

// Connect returns the client of a cluster. It reads kubeconfig files and opens no connection. Its
// error is a *status.MissingClusterError, a *status.UnknownConnectionError or a
// *status.ConnectionError. An error is not kept: the next call tries again.
func (s *Set) Connect(name string) (client *Client, err error) {
	defer panics.Recover("reading the connection of the cluster", &err)
	found := s.find(name)
	if found == nil {
		return nil, &status.MissingClusterError{Name: name, Known: s.Names()}
	}
	if found.ConnectionUnknown {
		return nil, &status.UnknownConnectionError{Cluster: name}
	}
	found.mu.Lock()
	defer found.mu.Unlock()
	if found.client != nil {
		return found.client, nil
	}
	var connection *kube.Client
	config, err := s.shared.kubeconfigs.Config(found.Connection, s.shared.masker)
	if err == nil {
		connection, err = kube.FromConfig(config)
	}
	if err != nil {
		_, invalid := errors.AsType[*connect.ConnectionError](err)
		return nil, &status.ConnectionError{Cluster: name, Invalid: invalid, Err: s.shared.masker.Error(err)}
	}
	found.client = &Client{
		name: name, uid: found.UID, namespaces: found.Connection.Namespaces, kube: connection, charts: s.shared.charts, masker: s.shared.masker,
		helm: helm.New(connection, s.shared.charts, &s.shared.records, s.shared.masker, found.Connection.Namespaces...),
	}
	return found.client, nil
}

// Check creates the client of a cluster. A connection that is not known yet is no error.
func (s *Set) Check(name string) error {
	_, err := s.Connect(name)
	if _, notYet := errors.AsType[*status.UnknownConnectionError](err); notYet {
		return nil
	}
	return err
}

func (s *Set) find(name string) *entry {
	if found, ok := s.entries[name]; ok {
		return found
	}
	return s.former[name]
}

// Has reports whether a cluster is in the configuration or in the state.
func (s *Set) Has(name string) bool { return s.find(name) != nil }

// Configured reports whether a cluster is in the configuration.
func (s *Set) Configured(name string) bool { return s.entries[name] != nil }

// ConnectionUnknown reports whether the configuration has a cluster whose connection is not
// known before an apply.
func (s *Set) ConnectionUnknown(name string) bool {
	found := s.entries[name]
	return found != nil && found.ConnectionUnknown
}

// IsConnectable reports whether a cluster of the configuration can be expected to respond: its
// connection is known.
func (s *Set) IsConnectable(name string) bool {
	return s.Configured(name) && !s.ConnectionUnknown(name)
}

// CheckNamespace returns a *release.OutsideError if the configuration does not permit releases in a
// namespace of a cluster.
func (s *Set) CheckNamespace(cluster, namespace string) error {
	found := s.entries[cluster]
	if found == nil || found.ConnectionUnknown {
		return nil
	}
	return release.CheckNamespace(cluster, found.Connection.Namespaces, namespace)
}

// Names returns the clusters of the configuration, sorted.
func (s *Set) Names() []string { return slices.Sorted(maps.Keys(s.entries)) }

// Facts returns the clusters that targeting can choose from, by name, and the names of those
// whose facts are not known before an apply.
func (s *Set) Facts() (known []target.Cluster, unknown []string) {
	return s.FactsFor(func(string) bool { return true })
}

// FactsFor is Facts for a caller that reads only some labels: other labels may be unknown.
func (s *Set) FactsFor(reads func(label string) bool) (known []target.Cluster, unknown []string) {
	for _, name := range s.Names() {
		if of := s.entries[name]; of.FactsUnknown || slices.ContainsFunc(of.UnknownLabels, reads) {
			unknown = append(unknown, name)
			continue
		}
		known = append(known, s.entries[name].Facts)
	}
	return known, unknown
}

// UIDs returns the identities that clusters of the configuration must have, if there are any.
func (s *Set) UIDs() map[string]string {
	uids := map[string]string{}
	for name, of := range s.entries {
		if of.UID != "" {
			uids[name] = of.UID
		}
	}
	return uids
}

// Connection reports whether the entry of a cluster is removed, unknown or known in the
// configuration. It returns the connection if that is known.
func (s *Set) Connection(name string) (state.Entry, connect.Connection) {
	of, ok := s.entries[name]
	switch {
	case !ok:
		return state.EntryRemoved, connect.Connection{}
	case of.ConnectionUnknown:
		return state.EntryUnknown, connect.Connection{}
	}
	return state.EntryKnown, of.Connection
}
