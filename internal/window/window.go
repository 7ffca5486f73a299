// Package window decides when deployments may change. Change windows allow or deny changes at
// certain times. The package has no clock of its own.
package window

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
	_ "time/tzdata" // Windows and minimal containers have no time zones.

	"k8s.io/apimachinery/pkg/labels"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Effect is how a window affects changes.
type Effect string

// The effects.
const (
	// Allow permits changes while the window is open, and holds them at other times.
	Allow Effect = "allow"
	// Deny holds changes while the window is open.
	Deny Effect = "deny"
)

// MaxDuration is how long a window can be open at most.
const MaxDuration = 366 * 24 * time.Hour

// Window is a recurring time span, with the deployments that it concerns.
type Window struct {
	Name     string
	Effect   Effect
	times    times
	duration time.Duration
	location *time.Location
	clusters Clusters
	bundles  Bundles
	// correctsDrift is true if the window does not hold the correction of drift.
	correctsDrift bool
}

// Clusters are the clusters that a window concerns.
type Clusters struct {
	// All is true if the window concerns all clusters. There are no rules then.
	All bool
	// Rules select clusters. At least one rule must match a cluster.
	Rules []target.Rule
	// Workspace is the Fleet namespace that the clusters must be in, "" for any.
	Workspace string
	// Lenient is true if rules may name clusters and groups that do not exist.
	Lenient bool
}

// Bundles are the bundles that a window concerns. A bundle must meet both conditions.
type Bundles struct {
	// Names are the names of the bundles, empty for any.
	Names []string
	// Selector selects bundles by their labels, nil for any.
	Selector *fleetyaml.Selector
}

// Specification is a window as the configuration describes it.
type Specification struct {
	Name   string
	Effect Effect
	// Cron is when the window opens, in five fields. Days and Start are the same by days of the
	// week. Either Cron or Start is set.
	Cron     string
	Days     []string
	Start    string
	Duration string
	// TimeZone is a name of the IANA database, "" for UTC.
	TimeZone      string
	Clusters      Clusters
	Bundles       Bundles
	CorrectsDrift bool
}

// InvalidError reports what is wrong with a window.
type InvalidError struct {
	Window string
	// Attribute is the attribute that is wrong, "" if there is no single one.
	Attribute string
	Err       error
}

func (e *InvalidError) Error() string {
	if e.Attribute == "" {
		return fmt.Sprintf("window %s: %v", e.Window, e.Err)
	}
	return fmt.Sprintf("window %s: %s: %v", e.Window, e.Attribute, e.Err)
}

// Unwrap returns the cause.
func (e *InvalidError) Unwrap() error { return e.Err }

// New reads a window. The error is an *InvalidError.
func New(s Specification) (Window, error) {
	made := Window{Name: s.Name, Effect: s.Effect, clusters: s.Clusters, bundles: s.Bundles, correctsDrift: s.CorrectsDrift}
	wrong := func(attribute string, err error) (Window, error) {
		return Window{}, &InvalidError{Window: s.Name, Attribute: attribute, Err: err}
	}
	if s.Effect != Allow && s.Effect != Deny {
		return wrong("effect", fmt.Errorf("%q is neither %s nor %s", s.Effect, Allow, Deny))
	}
	if (s.Cron == "") == (s.Start == "") {
		return wrong("", errors.New("needs either cron or weekly"))
	}
	var err error
	attribute := "cron"
	if s.Cron != "" {
		made.times, err = parseCron(s.Cron)
	} else {
		attribute = "weekly"
		made.times, err = parseWeekly(s.Days, s.Start)
	}
	if err != nil {
		return wrong(attribute, err)
	}
	if made.duration, err = parseDuration(s.Duration); err != nil {
		return wrong("duration", err)
	}
	if made.location, err = parseZone(s.TimeZone); err != nil {
		return wrong("time_zone", err)
	}
	if s.Bundles.Selector != nil {
		if _, err := s.Bundles.Selector.Compile(); err != nil {
			return wrong("bundle_selector", err)
		}
	}
	return made, nil
}

func parseDuration(text string) (time.Duration, error) {
	duration, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is no duration such as 6h or 1h30m", text)
	case duration < time.Minute:
		return 0, fmt.Errorf("%q is less than a minute", text)
	case duration > MaxDuration:
		return 0, fmt.Errorf("%q is more than 366 days, which are 8784h", text)
	}
	return duration, nil
}

// parseZone reads a time zone. It refuses "Local", because plan and apply can run on machines in
// different zones.
func parseZone(name string) (*time.Location, error) {
	if name == "Local" {
		return nil, errors.New("\"Local\" is different on each machine; use a name such as Europe/Berlin")
	}
	location, err := time.LoadLocation(cmp.Or(name, "UTC"))
	if err != nil {
		return nil, fmt.Errorf("%q is not in the database of time zones; use a name such as Europe/Berlin", name)
	}
	return location, nil
}

// Bundle is what windows read of a bundle.
type Bundle struct {
	Name string
	// Labels are nil if they are not known, for example for a bundle that is in no configuration
	// any more.
	Labels map[string]string
}

// match is whether a window concerns a deployment.
type match byte

const (
	no match = iota
	// perhaps is for a deployment of which too little is known.
	perhaps
	yes
)

// match reports whether the window concerns a bundle.
func (b Bundles) match(of Bundle) match {
	if len(b.Names) > 0 && !slices.Contains(b.Names, of.Name) {
		return no
	}
	if b.Selector == nil {
		return yes
	}
	if of.Labels == nil {
		return perhaps
	}
	selector, err := b.Selector.Compile()
	if err == nil && selector.Matches(labels.Set(of.Labels)) {
		return yes
	}
	return no
}
