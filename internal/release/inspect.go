package release

import (
	"bytes"
	"encoding/json"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// Rules say what counts when the objects of a release are looked at.
type Rules struct {
	// ComparePatches are parts of objects, and missing objects, that do not count.
	ComparePatches []fleetyaml.ComparePatch `json:"comparePatches,omitempty"`
	// Ignore are conditions that say nothing about readiness.
	Ignore []map[string]string `json:"ignore,omitempty"`
	// ReportOnly says that drift is reported and not corrected.
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

// IsZero says whether everything counts.
func (r Rules) IsZero() bool {
	return len(r.ComparePatches) == 0 && len(r.Ignore) == 0 && !r.ReportOnly
}

// Equal says whether the same counts.
func (r Rules) Equal(other Rules) bool {
	return r.ReportOnly == other.ReportOnly && equalJSON(r.Ignore, other.Ignore) && r.ComparesAs(other)
}

// ComparesAs says whether objects are compared in the same way.
func (r Rules) ComparesAs(other Rules) bool { return equalJSON(r.ComparePatches, other.ComparePatches) }

// equalJSON compares what is written as JSON, where a list that is empty and none are one.
func equalJSON[T any](a, b []T) bool {
	left, err := json.Marshal(a)
	if err != nil {
		return false
	}
	right, err := json.Marshal(b)
	return err == nil && (len(a)+len(b) == 0 || bytes.Equal(left, right))
}

// Readiness says which objects count when they are waited for.
type Readiness struct {
	// Jobs are ready when they are complete. Without it they do not count.
	Jobs bool
	// Ignore are conditions that say nothing about readiness.
	Ignore []map[string]string
	// Pending is called with what is not ready each time that this may have changed: the first
	// object, and how many there are. It returns at once. nil for nobody.
	Pending func(first Unready, objects int)
}

// Inspection is one release whose objects are to be looked at.
type Inspection struct {
	Observed Observed
	Rules    Rules
	// Stored are differences that the cluster itself made when the release was
	// written, by Difference.Key: what an API server or a webhook turns every write
	// into is no drift while it stays like that.
	Stored map[string]string
}

// Finding is what the objects of a release are like. Every object of its manifest is
// in one of the lists, or counted in Ready or Refused; hooks are no part of it.
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
	// Content covers the manifest and the hooks of the record, see Known.Content.
	Content string
	// Chart and Version are those of the chart in the record. The author of the record chose them.
	Chart, Version string
	// Err is why the objects could not be looked at; then the rest says nothing.
	Err error
}

// Settled says whether everything that could be looked at is there and ready, or is of
// no matter to that.
func (f Finding) Settled() bool { return len(f.Missing)+len(f.NotReady) == 0 && f.Err == nil }

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
	// Fingerprint is a short hash of what is there, or "-" where even that would reveal
	// too much.
	Fingerprint string
}

// Unready is an object that is not ready, and why.
type Unready struct {
	Object string
	Reason string
}

// DifferenceKey names a difference among all of a release.
func DifferenceKey(object, path string) string { return object + ": " + path }

// Differences are all differences, as Inspection.Stored wants them.
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
