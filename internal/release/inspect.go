package release

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// Rules describe which differences and conditions count when the objects of a release are
// inspected.
type Rules struct {
	// ComparePatches are parts of objects, and missing objects, that do not count.
	ComparePatches []fleetyaml.ComparePatch `json:"comparePatches,omitempty"`
	// Ignore are conditions that do not count for readiness.
	Ignore []map[string]string `json:"ignore,omitempty"`
	// ReportOnly is true if drift is reported and not corrected.
	ReportOnly bool `json:"reportOnly,omitempty"`
}

// RulesOf are the rules among the options of a deployment.
func RulesOf(options fleetyaml.Options) Rules {
	rules := Rules{ReportOnly: options.CorrectDrift.Off()}
	if options.Diff != nil {
		rules.ComparePatches = options.Diff.ComparePatches
	}
	if options.Ignore != nil {
		rules.Ignore = options.Ignore.Conditions
	}
	return rules
}

// IsZero reports whether everything counts.
func (r Rules) IsZero() bool {
	return len(r.ComparePatches) == 0 && len(r.Ignore) == 0 && !r.ReportOnly
}

// Equal reports whether both rules are the same.
func (r Rules) Equal(other Rules) bool {
	return r.ReportOnly == other.ReportOnly && equalJSON(r.Ignore, other.Ignore) && r.ComparesAs(other)
}

// ComparesAs reports whether objects are compared in the same way.
func (r Rules) ComparesAs(other Rules) bool { return equalJSON(r.ComparePatches, other.ComparePatches) }

// equalJSON compares lists by their JSON. An empty list equals a nil list.
func equalJSON[T any](a, b []T) bool {
	left, err := json.Marshal(a)
	if err != nil {
		return false
	}
	right, err := json.Marshal(b)
	return err == nil && (len(a)+len(b) == 0 || bytes.Equal(left, right))
}

// Readiness describes which objects a wait includes.
type Readiness struct {
	// Jobs are ready when they are complete. Without it they do not count.
	Jobs bool
	// Ignore are conditions that do not count for readiness.
	Ignore []map[string]string
	// Explains reads pods and events, and adds the causes to an error. With Logs, the end of the logs
	// of failed containers is added, too. Whoever waits always reads causes.
	Explains, Logs bool
	// ReadyFor is how long a container without a readiness probe has to run until its workload is
	// ready. Changed reports whether the operation has changed the object with an index. Only such
	// workloads are asked. Without both, no container is.
	ReadyFor time.Duration
	Changed  func(index int) bool
	// Pending is called each time that the set of unready objects may have changed, with the first
	// of them and their number. It returns at once. It can be nil.
	Pending func(first Unready, objects int)
}

// Inspection is one release whose objects are to be inspected.
type Inspection struct {
	Observed Observed
	Rules    Rules
	// Accepted maps DifferenceKey to the fingerprint of a difference that the cluster itself made
	// when the release was written. An API server or a webhook can change each write. Such a
	// difference is not drift as long as it remains the same.
	Accepted map[string]string
	// Proof is the proof of the labels of the record. Its content is verified with it. Without a
	// proof nothing is verified.
	Proof Proof
}

// Finding is the result of inspecting the objects of a release. Every object of its manifest is in
// one of the lists, or counted in Ready or Refused. Hooks are not included.
type Finding struct {
	// Ready counts the objects that are as they were deployed, and ready.
	Ready int
	// Missing are the names of objects that do not exist.
	Missing []string
	// NotOwned are objects that another release owns.
	NotOwned []OwnedObject
	// Modified are objects that differ from the manifest.
	Modified []Modification
	// NotReady are objects that are as they were deployed, and not ready.
	NotReady []Unready
	// Refused are the kinds that the identity may not read, with the number of
	// objects of each.
	Refused map[string]int
	// RecordChanged reports that the content of the record is not what its labels prove.
	RecordChanged bool
	// HidesNames reports that the names of the objects can contain secret values.
	HidesNames bool
	// Chart and Version are the name and version of the chart in the record. The author of the
	// record chose them.
	Chart, Version string
	// Err is the reason why the objects could not be inspected. The other fields are then not
	// valid.
	Err error
}

// Settled reports whether the objects could be inspected and none is missing or not ready.
func (f Finding) Settled() bool { return len(f.Missing)+len(f.NotReady) == 0 && f.Err == nil }

// IsAsWanted reports whether all objects could be read, are as in the manifest, and ready.
func (f Finding) IsAsWanted() bool {
	return f.Settled() && len(f.NotOwned)+len(f.Modified)+len(f.Refused) == 0 && !f.RecordChanged
}

// OwnedObject is an object and its owner.
type OwnedObject struct {
	Object string // such as "Deployment web/nginx"
	Owner  string // a release, as namespace/name
}

// Modification is an object that is not as it was deployed.
type Modification struct {
	Object      string
	Differences []Difference
}

// Difference is one field that differs. It never contains a value.
type Difference struct {
	// Path is such as "spec.template.spec.containers[nginx].image".
	Path string
	// Fingerprint is a short hash of the value on the cluster, or "-" where a hash would reveal too
	// much.
	Fingerprint string
}

// Unready is an object that is not ready, and the reason.
type Unready struct {
	Object string
	Reason string
}

// DifferenceKey returns the key of a difference among all differences of a release.
func DifferenceKey(object, path string) string { return object + ": " + path }

// Differences returns all differences in the form of Inspection.Accepted.
func (f Finding) Differences() map[string]string {
	var found map[string]string
	for _, modified := range f.Modified {
		for _, difference := range modified.Differences {
			if found == nil {
				found = map[string]string{}
			}
			found[DifferenceKey(modified.Object, difference.Path)] = difference.Fingerprint
		}
	}
	return found
}
