package plan

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// HookRun is a hook that an apply adds or runs, and its deployments.
type HookRun struct {
	// Hook is such as "Job.batch/shop/migrate (pre-upgrade, post-upgrade)".
	Hook        string
	Deployments []deploy.Key
}

// addHooks notes the hooks that an apply adds with a new deployment, or runs for another one. Those
// of charts that cannot be rendered without the cluster are not known. Hooks that run when a release
// is removed are in the record of that release alone.
func (p *Plan) addHooks(key deploy.Key, documents []diff.Document) {
	_, had := p.Prior[key]
	for _, document := range documents {
		hook := hookText(document, !had)
		if hook == "" {
			continue
		}
		at := slices.IndexFunc(p.Hooks, func(run HookRun) bool { return run.Hook == hook })
		if at < 0 {
			at, p.Hooks = len(p.Hooks), append(p.Hooks, HookRun{Hook: hook})
		}
		if !slices.Contains(p.Hooks[at].Deployments, key) {
			p.Hooks[at].Deployments = append(p.Hooks[at].Deployments, key)
		}
	}
}

// hookText names a hook and those of its events that count: all events of a deployment if the hook is
// new, and those of an upgrade otherwise. It returns "" for an object without such events.
func hookText(document diff.Document, isNew bool) string {
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
		if isNew && !strings.HasPrefix(event, "test") || strings.HasSuffix(event, "-upgrade") {
			events = append(events, event)
		}
	}
	if len(events) == 0 {
		return ""
	}
	return document.Key() + " (" + strings.Join(events, ", ") + ")"
}
