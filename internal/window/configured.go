package window

import (
	"fmt"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Configured are the change windows of a configuration.
type Configured struct {
	Windows []Window
	// Override is why nothing is held, "" if windows hold changes.
	Override string
	// Unknown reports that the configuration is not known yet.
	Unknown bool
	// Now is the clock.
	Now func() time.Time
}

// TimeFor returns the time that a plan decides for: that of the last refresh, so that the apply decides
// the same, and now if there was none.
func (c Configured) TimeFor(stored time.Time) time.Time {
	if len(c.Windows) == 0 || !stored.IsZero() {
		return stored
	}
	return c.Clock()
}

// Refreshed returns the time to store in a refresh. It changes only with a decision: private state
// that changed is written.
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
		return nil, nil //nolint:nilnil // Without windows nothing is decided.
	}
	set, err := NewSet(c.Windows, clusters, groups)
	if err != nil {
		return nil, err
	}
	return set.At(now), nil
}

// Description adds the reason of an override to what stands in the history of a release.
func (c Configured) Description(of func(target.Deployment) string) func(target.Deployment) string {
	if c.Override == "" || len(c.Windows) == 0 {
		return of
	}
	return func(d target.Deployment) string {
		return fmt.Sprintf("%s, change windows overridden: %s", of(d), c.Override)
	}
}
