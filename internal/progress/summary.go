package progress

import (
	"fmt"
	"slices"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
)

// summary counts the deployments of all targets that are being applied.
type summary struct {
	running              int
	began                time.Time
	total, ended, failed int
	// waiting are the deployments that wait, the longest-waiting one first.
	waiting []deploy.Event
}

// add counts an event. It reports whether the event ended the last running apply.
func (s *summary) add(event deploy.Event, now time.Time) (ended bool) {
	switch event.Kind {
	case deploy.ApplyStarted:
		if s.running == 0 {
			*s = summary{began: now}
		}
		s.running++
		s.total += event.Total
	case deploy.ApplyFinished:
		s.running = max(0, s.running-1)
		return s.running == 0
	case deploy.DeploymentWaits:
		i := slices.IndexFunc(s.waiting, func(other deploy.Event) bool { return other.Key == event.Key })
		if i < 0 {
			s.waiting = append(s.waiting, event)
		} else {
			s.waiting[i] = event
		}
	case deploy.DeploymentFinished:
		s.end(event.Key)
	case deploy.DeploymentFailed, deploy.DeploymentNotStarted:
		s.end(event.Key)
		s.failed++
	case deploy.OperationRetried:
		s.stopWaiting(event.Key)
	case deploy.StageStarted, deploy.DeploymentStarted:
	}
	return false
}

func (s *summary) end(key deploy.Key) {
	s.ended++
	s.stopWaiting(key)
}

func (s *summary) stopWaiting(key deploy.Key) {
	s.waiting = slices.DeleteFunc(s.waiting, func(other deploy.Event) bool { return other.Key == key })
}

// line returns a line such as
// "change 37/200 deployments, 2 failed, 12 waiting (eu-7/web: 1/3 pods) 41s".
func (s *summary) line(now time.Time) string {
	text := fmt.Sprintf("change %d/%d deployments", s.ended, s.total)
	if s.failed > 0 {
		text += fmt.Sprintf(", %d failed", s.failed)
	}
	if len(s.waiting) > 0 {
		first := s.waiting[0]
		text += fmt.Sprintf(", %d waiting (%s: %s)", len(s.waiting), name(first.Key), shortWait(first))
	}
	return mask.PrintableLine(fmt.Sprintf("%s %s", text, now.Sub(s.began).Truncate(time.Second)))
}
