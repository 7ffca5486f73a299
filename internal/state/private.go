// Package state defines what a target stores in Terraform's state and private state, as plain
// values. It encodes them, reads what earlier versions of the provider stored, and decides what is
// kept after a refresh or an apply.
package state

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube"
)

// Key is the key of the one entry that a target has in private state.
const Key = "state"

// currentVersion is the version of the format. It is increased when an earlier provider would read
// the entry wrongly.
const currentVersion = 1

// Private is what a target stores in private state. Private state is in no plan, and Terraform does
// not pass it to the Delete of a tainted target. What a removal needs is therefore in Record.
//
//nolint:recvcheck // only the decoder changes one
type Private struct {
	Version int `json:"version"`
	// ObjectVersions are the versions of the objects on clusters that values are read from.
	ObjectVersions ObjectVersions `json:"objects,omitempty"`
	// ClusterUIDs are the identities of clusters when they were last observed.
	ClusterUIDs map[string]string `json:"uids,omitempty"`
	// Connections are how clusters with deployments are reached. With them, an apply that removes a
	// cluster's entry from the provider can also clean up that cluster.
	Connections  map[string]kube.Stored `json:"connections,omitempty"`
	Capabilities PackedCapabilities     `json:"capabilities,omitempty"`
	// Needs are the bundles that each bundle was deployed after. Bundles that are in no
	// configuration any more are removed in the reverse order.
	Needs      map[string][]string `json:"needs,omitempty"`
	DriftState DriftState          `json:"drift,omitzero"`
	// Inventory is the Fleet's inventory of clusters at the last refresh, nil without an engine.
	Inventory *Inventory `json:"inventory,omitempty"`
	// Orphans are releases of the target that its state does not have, for example after an apply
	// that was killed. A refresh finds them. Only a plan can decide which of them are wanted.
	Orphans []deploy.Orphan `json:"orphans,omitempty"`
	// Unpredicted are the digests of deployments of which an apply rendered other objects than its plan
	// showed.
	Unpredicted map[string]string `json:"unpredicted,omitempty"`
	Replacement ReplacementMarker `json:"replacement,omitzero"`
	// Decided is the time that change windows are evaluated for, zero without windows.
	Decided time.Time `json:"decided,omitzero"`

	// Earlier is true if an earlier version of the provider stored some of this. The current
	// version stores it again even if nothing changed, to drop what is not kept any more.
	Earlier bool `json:"-"`
}

// DamagedError reports private state that cannot be read. It contains nothing of the content, which
// can have addresses and names.
type DamagedError struct {
	// Part is the part that cannot be read, "" if no part can be read.
	Part string
}

func (e *DamagedError) Error() string {
	if e.Part == "" {
		return "the private state is damaged"
	}
	return fmt.Sprintf("the private state is damaged: %q cannot be read", e.Part)
}

// NewerError reports private state that a newer version of the provider wrote.
type NewerError struct {
	Version int
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("a newer version of the provider wrote the private state: it has version %d of the format, and this provider reads up to %d", e.Version, currentVersion)
}

// Load reads private state. get returns the entry under a key, nil if there is none. The error is a
// DamagedError or a NewerError.
//
// Entries under the keys of earlier versions win over the same part of the current entry. Changes
// removes these keys, so an earlier version wrote them later: the provider was downgraded and
// upgraded again.
//
// A newer version of the format is an error, as Terraform itself rejects a newer schema of a
// resource. Without the content, the provider would lose the order of removals and the identities
// of clusters. It would also overwrite what the newer provider still needs.
func Load(get func(key string) []byte) (Private, error) {
	var private Private
	if raw := get(Key); len(raw) > 0 {
		var parts map[string]json.RawMessage
		if err := json.Unmarshal(raw, &parts); err != nil {
			return Private{}, &DamagedError{}
		}
		if err := json.Unmarshal(parts["version"], &private.Version); err != nil || private.Version < 1 {
			return Private{}, &DamagedError{Part: "version"}
		}
		if private.Version > currentVersion {
			return Private{}, &NewerError{Version: private.Version}
		}
		for _, part := range private.parts() {
			raw, has := parts[part.name]
			if !has {
				continue
			}
			if err := part.decode(raw); err != nil {
				return Private{}, &DamagedError{Part: part.name}
			}
		}
	}
	for _, part := range private.parts() {
		raw := get(part.earlierKey)
		if len(raw) == 0 {
			continue
		}
		private.Earlier = true
		if err := part.decodeEarlier(raw); err != nil {
			return Private{}, &DamagedError{Part: part.name}
		}
	}
	private.Version = currentVersion
	return private, nil
}

// part is a part of Private.
type part struct {
	name string
	// earlierKey is the key under which earlier versions of the provider stored this part alone.
	earlierKey string
	// decode replaces the part, and decodeEarlier replaces it by what an earlier version stored.
	decode, decodeEarlier func(raw []byte) error
}

func (p *Private) parts() []part {
	connections := partOf("connections", "connections", &p.Connections)
	connections.decodeEarlier = p.decodeEarlierConnections
	return []part{
		partOf("objects", "versions", &p.ObjectVersions),
		partOf("uids", "clusters", &p.ClusterUIDs),
		connections,
		partOf("capabilities", "capabilities", &p.Capabilities),
		partOf("needs", "needs", &p.Needs),
		partOf("drift", "looks", &p.DriftState),
		partOf("orphans", "orphans", &p.Orphans),
		partOf("unpredicted", "unpredicted", &p.Unpredicted),
		partOf("inventory", "inventory", &p.Inventory),
		partOf("replacement", "create_leg", &p.Replacement),
		partOf("decided", "decided", &p.Decided),
	}
}

func partOf[T any](name, earlierKey string, into *T) part {
	decode := func(raw []byte) error {
		var decoded T
		if err := json.Unmarshal(raw, &decoded); err != nil {
			return err
		}
		*into = decoded
		return nil
	}
	return part{name: name, earlierKey: earlierKey, decode: decode, decodeEarlier: decode}
}

// encode returns the entry of the current version.
func (p Private) encode() ([]byte, error) {
	p.Version = currentVersion
	raw, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encoding private state: %w", err)
	}
	return raw, nil
}

// Changes returns the entries to store, by key, that turn the loaded private state p into after. A
// nil entry removes its key. There are no changes if nothing changed.
func (p Private) Changes(after Private) (map[string][]byte, error) {
	was, err := p.encode()
	if err != nil {
		return nil, err
	}
	is, err := after.encode()
	if err != nil {
		return nil, err
	}
	if bytes.Equal(was, is) && !p.Earlier {
		return nil, nil
	}
	changes := map[string][]byte{Key: is}
	// The earlier keys are removed: they would double private state, and old connections contain
	// more than may be stored. An earlier provider then finds nothing and reads it from the
	// clusters again, as after an import.
	for _, part := range p.parts() {
		changes[part.earlierKey] = nil
	}
	return changes, nil
}
