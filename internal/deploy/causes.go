package deploy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// Cause is what several failures have in common. Their texts can differ in names of objects. Then Text
// is that of the first failure.
type Cause struct {
	Text     string
	Failures []Failure
}

// Keys returns the deployments, each once.
func (c Cause) Keys() []Key { return KeysOf(c.Failures) }

// GroupByCause puts failures with the same cause together, in the order in
// which causes first appear.
func GroupByCause(failures []Failure) []Cause {
	var causes []Cause
	at := map[string]int{}
	for _, failure := range failures {
		template := status.Template(failure.Err)
		i, known := at[template]
		if !known {
			i = len(causes)
			at[template] = i
			causes = append(causes, Cause{Text: status.Cause(failure.Err)})
		}
		causes[i].Failures = append(causes[i].Failures, failure)
	}
	for i, cause := range causes {
		differs := func(f Failure) bool { return status.Cause(f.Err) != cause.Text }
		if slices.ContainsFunc(cause.Failures, differs) {
			causes[i].Text += " (this is the text for " + cause.Keys()[0].String() + ", and others differ in names only)"
		}
	}
	return causes
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
