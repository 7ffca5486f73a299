// Package state defines what a target stores in Terraform's state and private state, as plain
// values. It encodes and reads them, and decides what is kept after a refresh or an apply.
package state

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube/connect"
)

// Key is the key of the one entry that a target has in private state.
const Key = "state"

// currentVersion is the version of the format. It is increased when an earlier provider would read
// the entry wrongly.
const currentVersion = 1

// Private is what a target stores in private state. Private state is in no plan, and Terraform does
// not pass it to the Delete of a tainted target. What a removal needs is therefore in Record.
type Private struct {
	Version int `json:"version"`
	// ObjectVersions are the versions of the objects on clusters that values are read from.
	ObjectVersions ObjectVersions `json:"objects,omitempty"`
	// ClusterUIDs are the identities of clusters when they were last observed.
	ClusterUIDs map[string]string `json:"uids,omitempty"`
	// Connections are how clusters with deployments are reached. With them, an apply that removes a
	// cluster's entry from the provider can also clean up that cluster.
	Connections  map[string]connect.Connection `json:"connections,omitempty"`
	Capabilities PackedCapabilities            `json:"capabilities,omitempty"`
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

// Load reads the entry of private state, which is empty if there is none. The error is a DamagedError or
// a NewerError.
//
// A newer version of the format is an error, as Terraform itself rejects a newer schema of a
// resource. Without the content, the provider would lose the order of removals and the identities
// of clusters. It would also overwrite what the newer provider still needs.
func Load(entry []byte) (Private, error) {
	private := Private{Version: currentVersion}
	if len(entry) == 0 {
		return private, nil
	}
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(entry, &parts); err != nil {
		return Private{}, &DamagedError{}
	}
	var version int
	if err := json.Unmarshal(parts["version"], &version); err != nil || version < 1 {
		return Private{}, &DamagedError{Part: "version"}
	}
	if version > currentVersion {
		return Private{}, &NewerError{Version: version}
	}
	fields := reflect.ValueOf(&private).Elem()
	for i := range fields.NumField() {
		name, _, _ := strings.Cut(fields.Type().Field(i).Tag.Get("json"), ",")
		if raw, has := parts[name]; has && json.Unmarshal(raw, fields.Field(i).Addr().Interface()) != nil {
			return Private{}, &DamagedError{Part: name}
		}
	}
	return private, nil
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

// maxPrivate is the maximum size of an entry, in bytes. Terraform reads messages of at most 64 MiB from a
// provider, and a plan has more than private state in it.
const maxPrivate = 32 << 20

// CheckSize returns an error for an entry that a plan must not store. A refresh and an apply still store
// what was planned before.
func CheckSize(entry []byte) error {
	if len(entry) <= maxPrivate {
		return nil
	}
	return fmt.Errorf("what it was planned with takes %d MiB, and the limit is %d MiB: the clusters and their labels, annotations and template values, and their API versions. "+
		"Divide the clusters between provider blocks", len(entry)>>20, maxPrivate>>20)
}

// Changed returns the entry to store if the loaded private state p turns into after, nil if nothing
// changed.
func (p Private) Changed(after Private) ([]byte, error) {
	was, err := p.encode()
	if err != nil {
		return nil, err
	}
	is, err := after.encode()
	if err != nil || bytes.Equal(was, is) {
		return nil, err
	}
	return is, nil
}
