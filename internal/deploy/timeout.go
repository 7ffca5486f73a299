package deploy

import (
	"fmt"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

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

// ShortenedTimeouts returns the bundles to be written that ask for more time than the target
// permits, with the time, and their deployments.
func (c Change) ShortenedTimeouts(s Settings) status.Grouped {
	var found status.Grouped
	for _, d := range c.Write {
		if s.shortens(d) {
			found.Add(fmt.Sprintf("bundle %s: helm.timeoutSeconds is %d", d.Bundle.Name, d.HelmOptions().TimeoutSeconds), d.Cluster)
		}
	}
	return found
}
