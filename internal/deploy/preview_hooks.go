package deploy

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// HookRun is a hook that an apply runs, and its deployments.
type HookRun struct {
	// Hook is such as "Job.batch/shop/migrate (pre-upgrade, post-upgrade)".
	Hook        string
	Deployments []Key
}

// HookRuns returns the hooks that an apply of the plan runs, in the order of the deployments. It
// does not know those of charts that cannot be rendered without the cluster. Hooks that run when a
// release is removed are in the record of that release alone.
func (p *Plan) HookRuns() []HookRun {
	var (
		runs  []HookRun
		index = map[string]int{}
	)
	for _, d := range p.Write {
		key := KeyOf(d)
		operation := "install"
		if _, had := p.prior[key]; had {
			operation = "upgrade"
		}
		for _, document := range p.Renderings[key].Documents {
			hook := hookText(document, operation)
			if hook == "" {
				continue
			}
			at, known := index[hook]
			if !known {
				at = len(runs)
				index[hook], runs = at, append(runs, HookRun{Hook: hook})
			}
			if !slices.Contains(runs[at].Deployments, key) {
				runs[at].Deployments = append(runs[at].Deployments, key)
			}
		}
	}
	return runs
}

// hookText names a hook and its events of an operation. It returns "" for what is no hook of that
// operation.
func hookText(document diff.Document, operation string) string {
	if !document.Hook {
		return ""
	}
	var object struct {
		Metadata struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if json.Unmarshal([]byte(document.Content), &object) != nil {
		return ""
	}
	annotation, isNamed := object.Metadata.Annotations[wellknown.Hook]
	if !isNamed { // It is a member of a list, whose annotation names the events.
		return document.Key()
	}
	var events []string
	for event := range strings.SplitSeq(annotation, ",") {
		event = strings.ToLower(strings.TrimSpace(event))
		if strings.HasSuffix(event, "-"+operation) {
			events = append(events, event)
		}
	}
	if len(events) == 0 {
		return ""
	}
	return document.Key() + " (" + strings.Join(events, ", ") + ")"
}
