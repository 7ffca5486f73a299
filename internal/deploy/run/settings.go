package run

import (
	"fmt"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Settings apply to all deployments of a request.
type Settings struct {
	// Wait reports that a write waits until objects are ready. It waits for Timeout unless the
	// bundle sets another time, see TimeoutOf.
	Wait    bool
	Timeout time.Duration
	// ReadyFor is how long a container without a readiness probe has to run.
	ReadyFor time.Duration
	// ExplainLogs adds the end of the logs of failed containers to errors.
	ExplainLogs bool
	// Limit is how long the whole apply may take.
	Limit      time.Duration
	MaxHistory int
	Consent    deploy.Consent
	Drift      deploy.Drift
	// Description returns the text that describes a revision in the history of its release.
	Description func(target.Deployment) string
}

func (s Settings) write(d target.Deployment, by release.Claimant) release.Write {
	return release.Write{
		Mark:          by.Mark,
		Proof:         by.Proof,
		Known:         by.Known,
		Wait:          s.Wait,
		Timeout:       s.TimeoutOf(d),
		ReadyFor:      s.ReadyFor,
		ExplainLogs:   s.ExplainLogs,
		MaxHistory:    s.MaxHistory,
		TakeOwnership: s.Consent.To(deploy.KeyOf(d)),
		Description:   s.Description(d),
	}
}

// TimeoutOf is how long a deployment may take to get ready. helm.timeoutSeconds of its bundle takes
// precedence over Timeout.
func (s Settings) TimeoutOf(d target.Deployment) time.Duration {
	switch {
	case d.HelmOptions().TimeoutSeconds <= 0:
		return s.Timeout
	case s.shortens(d):
		return s.LongestTimeout()
	}
	return time.Duration(d.HelmOptions().TimeoutSeconds) * time.Second
}

// LongestTimeout is the limit for helm.timeoutSeconds. It leaves time for the other deployments,
// because an apply ends after Limit whatever is left to do.
func (s Settings) LongestTimeout() time.Duration { return max(s.Timeout, s.Limit/2) }

// shortens reports whether a bundle asks for more time than the target permits. The seconds are not
// multiplied, because they can be so many that no duration contains them.
func (s Settings) shortens(d target.Deployment) bool {
	return int64(d.HelmOptions().TimeoutSeconds) > int64(s.LongestTimeout()/time.Second)
}

// ShortenedTimeouts returns the bundles of deployments that ask for more time than the target
// permits, with the time, and their clusters.
func (s Settings) ShortenedTimeouts(write []target.Deployment) status.Grouped {
	var found status.Grouped
	for _, d := range write {
		if s.shortens(d) {
			found.Add(fmt.Sprintf("bundle %s: helm.timeoutSeconds is %d", d.Bundle.Name, d.HelmOptions().TimeoutSeconds), d.Cluster)
		}
	}
	return found
}
