package report

import (
	"fmt"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/preview"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/immutable"
)

// Immutable reports objects whose immutable fields a plan changes: those that make the apply fail,
// and those that are replaced.
func Immutable(name string, changes []preview.ImmutableChange) []Message {
	var refused, replaced []preview.ImmutableChange
	for _, change := range changes {
		if change.Replaces {
			replaced = append(replaced, change)
			continue
		}
		refused = append(refused, change)
	}
	var messages []Message
	if len(refused) > 0 {
		lines, objects := immutableLines(refused)
		messages = warning("Target "+name+": fields cannot be changed",
			"No update can change these fields, so the apply of these deployments fails:"+lines+"\n\n"+immutable.WaysOut(objects))
	}
	if len(replaced) > 0 {
		lines, _ := immutableLines(replaced)
		messages = append(messages, warning("Target "+name+": objects are deleted and created again",
			"No update can change these fields, and helm.force or correct_drift.force is set:"+lines+
				"\n\nNo other object is deleted. The pods of a StatefulSet stay, unless its selector changes.")...)
	}
	return messages
}

// immutableLines returns a line for each object, and each object once.
func immutableLines(changes []preview.ImmutableChange) (string, []immutable.Change) {
	var (
		lines   strings.Builder
		objects []immutable.Change
		keys    = map[string][]deploy.Key{}
	)
	for _, change := range changes {
		text := change.Change.String()
		if keys[text] == nil {
			objects = append(objects, change.Change)
		}
		keys[text] = append(keys[text], change.Key)
	}
	for _, object := range objects {
		fmt.Fprintf(&lines, "\n  - %s: on %s", object, deploy.ListOf(keys[object.String()]))
	}
	return lines.String(), objects
}
