package state

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// Planned is what an apply needs of its plan: the attribute planned. The hashes of objects are not
// in it: the second plan of a create can know one that the first did not, and only an element of a
// map can be unknown alone. They are in the attribute objects.
type Planned struct {
	// Write are the deployments that the apply writes.
	Write map[deploy.Key]PlannedWrite
	// Held are the deployments that stay as they are, although they are not as wanted.
	Held map[deploy.Key]bool
	// Number counts the plans of the target that decided something, so that two of them that decide the
	// same have different texts.
	Number int
	// IsUnknown is true if a second plan can decide otherwise.
	IsUnknown bool
}

// PlannedWrite is a deployment that an apply writes.
type PlannedWrite struct {
	// Digest is that after the apply, "" if only the apply knows it.
	Digest string `json:"digest,omitempty"`
	// Ready reports that the deployment is ready after the apply.
	Ready bool `json:"ready,omitempty"`
}

// storedPlanned is Planned in JSON, with the keys as cluster/bundle.
type storedPlanned struct {
	Write map[string]PlannedWrite `json:"write,omitempty"`
	Held  []string                `json:"held,omitempty"`
	// Number is as in Planned.
	Number int `json:"number,omitempty"`
}

// packedPrefix marks the text of the attribute as compressed, as in the descriptor of a bundle.
const packedPrefix = "gz:"

// maxUnpacked limits what unpack reads.
const maxUnpacked = 256 << 20

// PlannedOf returns what a plan decides.
func PlannedOf(plan *plan.Plan) Planned {
	planned, readinessUnknown := Planned{Write: map[deploy.Key]PlannedWrite{}, Held: plan.HeldKeys()}, false
	for key, record := range plan.Records() {
		if !record.IsWritten {
			continue
		}
		write := PlannedWrite{Digest: record.Digest, Ready: record.State == status.Ready || record.State == ""}
		if record.DigestUnknown {
			write.Digest = ""
		}
		planned.Write[key] = write
		readinessUnknown = readinessUnknown || record.ReadinessUnknown
	}
	if readinessUnknown { // The plan shows no deployment as ready.
		for key, write := range planned.Write {
			write.Ready = false
			planned.Write[key] = write
		}
	}
	return planned
}

// PlannedBy returns what an apply decided itself, because its plan could not.
func PlannedBy(change plan.Change) Planned {
	planned := Planned{Write: map[deploy.Key]PlannedWrite{}, Held: change.HeldKeys()}
	for _, d := range change.Write {
		planned.Write[deploy.KeyOf(d)] = PlannedWrite{Digest: d.Digest}
	}
	return planned
}

// Encode returns the text of the attribute planned.
func (p Planned) Encode() string {
	stored := storedPlanned{Number: p.Number, Write: make(map[string]PlannedWrite, len(p.Write))}
	for key, write := range p.Write {
		stored.Write[key.String()] = write
	}
	for _, key := range slices.SortedFunc(maps.Keys(p.Held), deploy.Key.Compare) {
		stored.Held = append(stored.Held, key.String())
	}
	packed, _ := pack(stored) // Strings and booleans cannot fail.
	return packedPrefix + base64.StdEncoding.EncodeToString(packed)
}

// DecodePlanned reads the text of the attribute planned. A text that cannot be read decides nothing.
func DecodePlanned(text string) Planned {
	planned := Planned{Write: map[deploy.Key]PlannedWrite{}, Held: map[deploy.Key]bool{}}
	packed, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, packedPrefix))
	if err != nil {
		return planned
	}
	var stored storedPlanned
	if err := unpack(packed, &stored); err != nil {
		return planned
	}
	planned.Number = stored.Number
	for name, write := range stored.Write {
		planned.Write[keyOf(name)] = write
	}
	for _, name := range stored.Held {
		planned.Held[keyOf(name)] = true
	}
	return planned
}

// IsRepeatedBy reports that a plan decides nothing new: it writes nothing and holds the same
// deployments. Then it keeps the text of the last plan, and Terraform shows no change.
func (p Planned) IsRepeatedBy(next Planned) bool {
	return len(next.Write) == 0 && maps.Equal(p.Held, next.Held)
}

// Repeated returns what a plan decides that keeps the text of the last one: it writes nothing.
func (p Planned) Repeated() Planned { return Planned{Held: p.Held, Number: p.Number} }

// Writes reports whether a plan writes a deployment.
func (p Planned) Writes(key deploy.Key) bool {
	_, writes := p.Write[key]
	return writes
}

// WritesOther reports whether a plan writes a deployment with another digest.
func (p Planned) WritesOther(key deploy.Key, digest string) bool {
	write, writes := p.Write[key]
	return writes && (write.Digest == "" || write.Digest != digest)
}

// LeavesOut reports whether the plan of a create says that a deployment will not exist.
func (p Planned) LeavesOut(key deploy.Key) bool { return !p.IsUnknown && !p.Writes(key) }

// Ready returns the deployments that are ready after the apply.
func (p Planned) Ready() map[deploy.Key]bool {
	ready := map[deploy.Key]bool{}
	for key, write := range p.Write {
		if write.Ready {
			ready[key] = true
		}
	}
	return ready
}

// HeldAfter returns the deployments that an apply of the plan held. One that the plan of a
// replacement writes is unchanged.
func (p Planned) HeldAfter(change plan.Change) map[deploy.Key]bool {
	held := change.HeldKeys()
	if !p.IsUnknown {
		maps.DeleteFunc(held, func(key deploy.Key, _ bool) bool { return !p.Held[key] })
	}
	return held
}

// pack returns a value as compressed JSON.
func pack(value any) ([]byte, error) {
	plain, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encoding: %w", err)
	}
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	if _, err := writer.Write(plain); err != nil {
		return nil, fmt.Errorf("compressing: %w", err)
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("compressing: %w", err)
	}
	return packed.Bytes(), nil
}

// unpack reads what pack returned.
func unpack(packed []byte, into any) error {
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return fmt.Errorf("decompressing: %w", err)
	}
	plain, err := io.ReadAll(io.LimitReader(reader, maxUnpacked)) // The whole text, for its checksum.
	if err != nil {
		return fmt.Errorf("decompressing: %w", err)
	}
	if err := json.Unmarshal(plain, into); err != nil {
		return fmt.Errorf("decoding: %w", err)
	}
	return nil
}
