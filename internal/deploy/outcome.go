package deploy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/policy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// Outcome is the result of an apply, whether it failed or not.
type Outcome struct {
	// Records contains every deployment of the request that is, or may be, on its cluster. A
	// deployment that was found to no longer exist is missing.
	Records  map[Key]Record
	Failures []Failure
	// Versions contains, by cluster, the versions of objects that values come from, where the
	// request did not have them.
	Versions map[string]Versions
	// Notices list what removals left behind on purpose, sorted by key.
	Notices []Notice
	// Warned are violations that only warn and that the plan could not find.
	Warned []policy.Violation
	// Interruption is nil unless the apply was interrupted before its end.
	Interruption *Interruption
	// Existing are releases because of which a create was not begun, sorted by cluster, namespace
	// and name. If there are any, nothing was written.
	Existing []Existing
	// Overlapping are the names of clusters of which several are one cluster and are to have one
	// release there. If there are any, nothing was written.
	Overlapping [][]string
}

// Existing is a release with the owner and the name of a target that is to be created.
type Existing struct {
	Cluster  string
	Observed release.Observed
}

// StatesOf describes the states of the deployments that failed for one cause.
func (o *Outcome) StatesOf(cause Cause) string {
	failed := cause.Keys()
	_, unreachable := errors.AsType[*status.UnreachableError](cause.Failures[0].Err)
	var lines []string
	states := map[string]int{}
	for _, key := range failed {
		record, ok := o.Records[key]
		is, state := " is "+string(record.State), string(record.State)
		switch {
		case !ok:
			lines = append(lines, key.String()+" is not deployed.")
			states["Not deployed"]++
			continue
		case unreachable && record.State != status.ErrApplied: // Nobody knows its state now.
			is, state = " stays as last read", "As last read"
		}
		lines = append(lines, fmt.Sprintf("%s%s (release %s in namespace %s).", key, is, record.Release, record.Namespace))
		states[state]++
	}
	if len(failed) > maxInDetail {
		lines = nil
		for _, state := range slices.Sorted(maps.Keys(states)) {
			lines = append(lines, fmt.Sprintf("%s: %d of them.", state, states[state]))
		}
	}
	lines = append(lines, "All other deployments were finished and saved.")
	return strings.Join(lines, " ")
}

// Unplanned finds deployments whose objects are not those that the plan showed. That happens only
// for a chart whose output changes in an unexpected way. Then the state shows the existing
// objects, and this error reports the reason.
func (o *Outcome) Unplanned(planned map[Key]map[string]string) []Failure {
	failed := map[Key]bool{}
	for _, failure := range o.Failures {
		failed[Key{Cluster: failure.Cluster, Bundle: failure.Bundle}] = true
	}
	var failures []Failure
	for key, objects := range planned {
		record, ok := o.Records[key]
		if !ok || failed[key] || !record.State.Settled() || release.MatchesPlanned(record.Objects, objects) {
			continue
		}
		failures = append(failures, key.Failure("deploying", release.ErrUnplannedObjects))
	}
	return failures
}

// Forget drops removals that failed because a cluster could not be reached, if isConfigured does
// not report the cluster. It returns those clusters, sorted.
func (o *Outcome) Forget(isConfigured func(cluster string) bool) []string {
	forgotten := map[string]bool{}
	o.Failures = slices.DeleteFunc(o.Failures, func(failure Failure) bool {
		if isConfigured(failure.Cluster) || !isUnreachable(failure.Err) {
			return false
		}
		forgotten[failure.Cluster] = true
		delete(o.Records, Key{Cluster: failure.Cluster, Bundle: failure.Bundle})
		return true
	})
	return slices.Sorted(maps.Keys(forgotten))
}

// isUnreachable reports whether a cluster could not be read at all.
func isUnreachable(err error) bool {
	var (
		unreachable *status.UnreachableError
		denied      *status.DeniedError
		other       *OtherClusterError
		unusable    *status.ConnectionError
	)
	return errors.As(err, &unreachable) || errors.As(err, &denied) || errors.As(err, &other) || errors.As(err, &unusable)
}
