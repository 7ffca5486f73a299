package window

import (
	"fmt"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Configured are the change windows of a configuration.
type Configured struct {
	Windows []Window
	// Override is the reason why nothing is held, "" if windows hold changes.
	Override string
	// Unknown is true if the configuration is not known yet.
	Unknown bool
	// Now returns the present time.
	Now func() time.Time
}

// TimeFor returns the time that a plan decides for. This is the time of the last refresh, so that
// the apply decides the same. Without a refresh it is the present time.
func (c Configured) TimeFor(stored time.Time) time.Time {
	if len(c.Windows) == 0 || !stored.IsZero() {
		return stored
	}
	return c.Clock()
}

// Refreshed returns the time to store in a refresh. The time changes only if a decision changes,
// because changed private state is written.
func (c Configured) Refreshed(stored time.Time) time.Time {
	switch now := c.Clock(); {
	case c.Unknown:
		return stored
	case len(c.Windows) == 0:
		return time.Time{}
	case !stored.IsZero() && IsSame(c.Windows, stored, now):
		return stored
	default:
		return now
	}
}

// Clock returns the present time, in UTC and in whole seconds.
func (c Configured) Clock() time.Time { return c.Now().UTC().Truncate(time.Second) }

// At returns what the windows decide at a time, nil without windows. The error is an *InvalidError.
func (c Configured) At(now time.Time, clusters []target.Cluster, groups []target.Group) (*Decisions, error) {
	if len(c.Windows) == 0 {
		return nil, nil // Without windows nothing is decided.
	}
	return At(now, c.Windows, clusters, groups)
}

// Description adds the reason of an override to the description in the history of a release.
func (c Configured) Description(of func(target.Deployment) string) func(target.Deployment) string {
	if c.Override == "" || len(c.Windows) == 0 {
		return of
	}
	return func(d target.Deployment) string {
		return fmt.Sprintf("%s, change windows overridden: %s", of(d), c.Override)
	}
}
