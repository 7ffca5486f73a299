package state

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// noDigest is Deployed of a release that is not from this provider.
const noDigest = "none"

// storedRelease is an element of the attribute records in JSON: release.Known, what is deployed,
// and the changes that the cluster itself made to the objects.
type storedRelease struct {
	release.Known

	Chart   string `json:"chart,omitempty"`
	Version string `json:"version,omitempty"`
	// Deployed is the digest on the cluster if it differs from Digest, which the target wrote.
	Deployed string `json:"deployed,omitempty"`
	// State is "" for Ready.
	State   status.State `json:"state,omitempty"`
	Message string       `json:"message,omitempty"`
	Waits   bool         `json:"waits,omitempty"`
	// Objects are set if their names vary: then the attribute objects has only their number.
	Objects    map[string]string `json:"objects,omitempty"`
	HidesNames bool              `json:"hides_names,omitempty"`
	// Accepted is deploy.Record.Accepted. Without it, the create half of a replacement would treat the
	// cluster's own changes to objects as drift.
	Accepted map[string]string `json:"accepted,omitempty"`
	// HandedOver is deploy.Record.HandedOver.
	HandedOver map[string]string `json:"handed_over,omitempty"`
	// BundleLabels is deploy.Record.BundleLabels. It is absent only if it is nil.
	BundleLabels map[string]string `json:"bundle_labels,omitzero"`
}

func storedRecord(record deploy.Record) storedRelease {
	stored := storedRelease{
		Known: record.Current(), Chart: record.Chart, Version: record.Version, Message: record.Message, Waits: record.Waits,
		HidesNames: record.HidesNames, Accepted: record.Accepted, HandedOver: record.HandedOver, BundleLabels: record.BundleLabels,
	}
	if record.State != status.Ready {
		stored.State = record.State
	}
	if record.Digest != stored.Digest {
		stored.Deployed = cmp.Or(record.Digest, noDigest)
	}
	if record.NamesVary {
		stored.Objects = record.Objects
	}
	return stored
}

// record returns the record of a deployment, without what is stored in the other attributes.
func (stored storedRelease) record() deploy.Record {
	record := deploy.Record{
		Release: stored.Release, Namespace: stored.Namespace, Known: stored.Known, Chart: stored.Chart, Version: stored.Version,
		Digest: cmp.Or(stored.Deployed, stored.Digest), State: cmp.Or(stored.State, status.Ready), Message: stored.Message, Waits: stored.Waits,
		Objects: stored.Objects, HidesNames: stored.HidesNames,
		Accepted: stored.Accepted, HandedOver: stored.HandedOver, BundleLabels: stored.BundleLabels,
	}
	if stored.Deployed == noDigest {
		record.Digest = ""
	}
	return record
}

func (stored storedRelease) encode() string {
	text, _ := json.Marshal(stored) // Strings, numbers and booleans cannot fail.
	return string(text)
}

// decodeRelease reads one element; ok is false if it cannot be read.
func decodeRelease(text string) (stored storedRelease, ok bool) {
	err := json.Unmarshal([]byte(text), &stored)
	return stored, err == nil && stored.Release != ""
}

// EncodeKnown returns the element of a release of which only known is recorded.
func EncodeKnown(known release.Known) string { return storedRelease{Known: known}.encode() }

// EncodeRecord returns the elements of records of one deployment. The current release has the key
// of the deployment. A release that a failed move left behind has the key
// "cluster/bundle namespace/release".
func EncodeRecord(key deploy.Key, record deploy.Record) map[string]string {
	elements := map[string]string{key.String(): storedRecord(record).encode()}
	for _, left := range record.Leftovers {
		elements[key.String()+" "+release.Key(left.Namespace, left.Release)] = EncodeKnown(left)
	}
	return elements
}

// Records are the elements of the attribute records, by deployment.
type Records struct {
	Current map[deploy.Key]deploy.Record
	// Leftovers are the releases that a failed move left behind.
	Leftovers map[deploy.Key][]release.Known
	// Damaged are the names of elements that cannot be read, sorted.
	Damaged []string
}

// DecodeRecords reads the elements of records.
func DecodeRecords(elements map[string]string) Records {
	found := Records{Current: map[deploy.Key]deploy.Record{}, Leftovers: map[deploy.Key][]release.Known{}}
	for _, name := range slices.Sorted(maps.Keys(elements)) {
		stored, ok := decodeRelease(elements[name])
		if !ok {
			found.Damaged = append(found.Damaged, name)
			continue
		}
		deployment, _, isLeft := strings.Cut(name, " ")
		key := keyOf(deployment)
		if isLeft {
			found.Leftovers[key] = append(found.Leftovers[key], stored.Known)
			continue
		}
		found.Current[key] = stored.record()
	}
	return found
}

// MissingReleases are releases without a deployment: they were not on their cluster when the cluster
// was last observed. If their objects exist again, the objects belong to this target.
type MissingReleases map[deploy.Key]release.Known

// Missing returns the missing releases. isDeployed reports whether there is a deployment.
func (r Records) Missing(isDeployed func(deploy.Key) bool) MissingReleases {
	missing := MissingReleases{}
	for key, record := range r.Current {
		if !isDeployed(key) {
			missing[key] = record.Known
		}
	}
	return missing
}

// Wanted returns the missing releases of wanted deployments.
func (m MissingReleases) Wanted(wanted []target.Deployment) MissingReleases {
	kept := MissingReleases{}
	for _, d := range wanted {
		key := deploy.Key{Cluster: d.Cluster, Bundle: d.Bundle.Name}
		if known, is := m[key]; is {
			kept[key] = known
		}
	}
	return kept
}

// AddedTo returns the records and, for each missing release, a record with which a refresh reads it
// again.
func (m MissingReleases) AddedTo(records map[deploy.Key]deploy.Record) map[deploy.Key]deploy.Record {
	all := map[deploy.Key]deploy.Record{}
	maps.Copy(all, records)
	for key, known := range m {
		all[key] = deploy.Record{
			Release: known.Release, Namespace: known.Namespace, Known: known,
		}.With(status.Facts{Unfinished: "the release was missing and exists again"})
	}
	return all
}
