package deploy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// Cause is what several failures have in common.
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
	for _, failure := range failures {
		text := status.Cause(failure.Err)
		i := slices.IndexFunc(causes, func(c Cause) bool { return c.Text == text })
		if i < 0 {
			causes = append(causes, Cause{Text: text})
			i = len(causes) - 1
		}
		causes[i].Failures = append(causes[i].Failures, failure)
	}
	return causes
}

// StatesOf describes the states of failed deployments.
func (o *Outcome) StatesOf(failed []Key) string {
	var lines []string
	states := map[string][]Key{}
	for _, key := range failed {
		record, ok := o.Records[key]
		if !ok {
			lines = append(lines, key.String()+" is not deployed.")
			states["Not deployed"] = append(states["Not deployed"], key)
			continue
		}
		lines = append(lines, fmt.Sprintf("%s is %s (release %s in namespace %s).", key, record.State, record.Release, record.Namespace))
		states[string(record.State)] = append(states[string(record.State)], key)
	}
	if len(failed) > maxInDetail {
		lines = nil
		for _, state := range slices.Sorted(maps.Keys(states)) {
			lines = append(lines, fmt.Sprintf("%s: %d of them.", state, len(states[state])))
		}
	}
	lines = append(lines, "All other deployments were finished and saved.")
	return strings.Join(lines, " ")
}
