package deploy

import (
	"slices"

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
