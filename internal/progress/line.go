// Package progress shows the events of an apply to people: as lines of a file, or as one line of a
// terminal that is written again and again. It can neither block an apply nor make it fail.
package progress

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
)

// maxLine is the maximum length of a line in bytes. An error can quote much more.
const maxLine = 600

// Line returns the text of an event. The text is printable and has one line, for any names that a
// cluster or a chart gave to its objects.
func Line(event deploy.Event) string {
	return cut(mask.PrintableLine(strings.Join(strings.Fields(text(event)), " ")), maxLine)
}

// Fields returns the parts of an event for a log. Parts without a meaning for the kind of event are
// left out. The error is left out too, because Line contains it.
func Fields(event deploy.Event) map[string]any {
	fields := map[string]any{}
	set := func(name, value string) {
		if value != "" {
			fields[name] = cut(mask.PrintableLine(strings.Join(strings.Fields(value), " ")), maxLine)
		}
	}
	set("target", event.Target)
	set("cluster", event.Cluster)
	set("bundle", event.Bundle)
	set("action", event.Doing)
	if event.Attempt > 0 {
		fields["attempt"] = event.Attempt
	}
	switch event.Kind {
	case deploy.ApplyStarted:
		fields["deployments"] = event.Total
		set("summary", event.Text)
	case deploy.StageStarted:
		fields["stage"], fields["stages"] = event.Stage, event.Stages
		set("deployments", event.Text)
	case deploy.DeploymentWaits:
		set("waits_for", waitsFor(event))
	case deploy.OperationRetried:
		fields["pause"] = event.Pause.Seconds()
	case deploy.ApplyFinished:
		fields["deployments"], fields["finished"], fields["failed"] = event.Total, event.Finished, event.Failed
	case deploy.DeploymentStarted, deploy.DeploymentFinished, deploy.DeploymentFailed, deploy.DeploymentNotStarted:
	}
	if event.Elapsed > 0 && event.Kind != deploy.DeploymentStarted {
		fields["seconds"] = math.Round(event.Elapsed.Seconds()*10) / 10
	}
	return fields
}

func text(event deploy.Event) string {
	switch event.Kind {
	case deploy.ApplyStarted:
		return fmt.Sprintf("target %s: started, %d deployments to change (%s)", event.Target, event.Total, event.Text)
	case deploy.StageStarted:
		return fmt.Sprintf("target %s: stage %d of %d started: %s", event.Target, event.Stage, event.Stages, event.Text)
	case deploy.ApplyFinished:
		return fmt.Sprintf("target %s: ended after %s, %d of %d deployments finished, %d failed",
			event.Target, seconds(event.Elapsed), event.Finished, event.Total, event.Failed)
	case deploy.DeploymentStarted:
		return fmt.Sprintf("%s: %s started", name(event.Key), event.Doing)
	case deploy.DeploymentWaits:
		return fmt.Sprintf("%s: %s waits after %s for %s", name(event.Key), event.Doing, seconds(event.Elapsed), waitsFor(event))
	case deploy.OperationRetried:
		return fmt.Sprintf("%s: %s is retried, attempt %d in %s: %v", name(event.Key), event.Doing, event.Attempt, seconds(event.Pause), event.Err)
	case deploy.DeploymentFinished:
		return fmt.Sprintf("%s: %s finished after %s%s", name(event.Key), event.Doing, seconds(event.Elapsed), attempts(event))
	case deploy.DeploymentFailed:
		return fmt.Sprintf("%s: %s failed after %s%s: %v", name(event.Key), event.Doing, seconds(event.Elapsed), attempts(event), event.Err)
	case deploy.DeploymentNotStarted:
		return fmt.Sprintf("%s: not started: %v", name(event.Key), event.Err)
	}
	return fmt.Sprintf("event %d", event.Kind)
}

// name returns the key as text, without a bundle for an operation on a whole cluster.
func name(key deploy.Key) string {
	if key.Bundle == "" {
		return key.Cluster
	}
	return key.String()
}

func attempts(event deploy.Event) string {
	if event.Attempt < 2 {
		return ""
	}
	return fmt.Sprintf(" and %d attempts", event.Attempt)
}

func waitsFor(event deploy.Event) string {
	text := event.Waits.Object
	if event.Waits.Reason != "" {
		text += " (" + event.Waits.Reason + ")"
	}
	if event.Objects > 1 {
		text += fmt.Sprintf(" and %d other objects", event.Objects-1)
	}
	return text
}

// pods matches the message of a workload that waits for pods, such as "Available: 1/3".
var pods = regexp.MustCompile(`(?:Replicas|Updated|Ready|Available|Current|Partitioned): (\d+/\d+)$`)

// shortWait is a short form of waitsFor, such as "1/3 pods".
func shortWait(event deploy.Event) string {
	if found := pods.FindStringSubmatch(event.Waits.Reason); found != nil {
		return found[1] + " pods"
	}
	return event.Waits.Object
}

// seconds writes a duration in whole seconds, or to a tenth if it is shorter than ten seconds.
func seconds(d time.Duration) string {
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// cut shortens a text to a number of bytes.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}
