package window

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Decisions are what windows decide at one time. They are not safe for concurrent use.
type Decisions struct {
	now      time.Time
	windows  []Window
	clusters map[string]bool
	// concerned are the names of the clusters that each window concerns.
	concerned []map[string]bool
	// known are decisions, by the windows that concern a deployment.
	known map[string]error
}

// At finds the clusters that windows concern, and returns what the windows decide at a time. The error
// is an *InvalidError.
func At(now time.Time, windows []Window, clusters []target.Cluster, groups []target.Group) (*Decisions, error) {
	made := &Decisions{now: now, windows: slices.Clone(windows), clusters: map[string]bool{}, known: map[string]error{}}
	slices.SortStableFunc(made.windows, func(a, b Window) int { return strings.Compare(a.Name, b.Name) })
	for _, c := range clusters {
		made.clusters[c.Name] = true
	}
	for _, w := range made.windows {
		concerned, err := w.clusters.of(clusters, groups)
		if err != nil {
			return nil, &InvalidError{Window: w.Name, Attribute: "targets", Err: err}
		}
		made.concerned = append(made.concerned, concerned)
	}
	return made, nil
}

// of returns the names of the clusters that a window concerns.
func (c Clusters) of(clusters []target.Cluster, groups []target.Group) (map[string]bool, error) {
	find := target.Match
	if c.Lenient {
		find = target.MatchExisting
	}
	found, err := clusters, error(nil)
	if !c.All {
		found, err = find(c.Rules, clusters, groups)
	}
	names := map[string]bool{}
	for _, cluster := range found {
		if c.Workspace == "" || c.Workspace == cluster.Namespace {
			names[cluster.Name] = true
		}
	}
	return names, err
}

// IsSame reports whether windows decide the same at one time and at a later time. At both times the
// same windows must be open, and each window that holds changes must hold them until the same time.
func IsSame(windows []Window, a, b time.Time) bool {
	for _, w := range windows {
		sinceA, isOpen := w.openSince(a)
		sinceB, isOpenLater := w.openSince(b)
		holds := isOpen == (w.Effect == Deny)
		switch {
		case isOpen != isOpenLater:
			return false
		case holds && isOpen && !sinceA.Equal(sinceB):
			return false
		case holds && !isOpen && !w.opensAfter(a).Equal(w.opensAfter(b)):
			return false
		}
	}
	return true
}

// Closed returns why a deployment must not change, nil if it may. onlyDrift is true if the change
// only corrects drift. The error names the window, and the next time at which no window forbids the
// change, in the time zone of the window.
//
// Missing information counts as if the window concerned the deployment. This is the case if the
// cluster is in no configuration any more, or if the labels of the bundle are not known.
func (d *Decisions) Closed(cluster string, bundle Bundle, onlyDrift bool) error {
	matches := make([]byte, len(d.windows))
	for i, w := range d.windows {
		if onlyDrift && w.correctsDrift {
			continue
		}
		matches[i] = byte(min(d.match(i, cluster), w.bundles.match(bundle)))
	}
	key := string(matches)
	decided, found := d.known[key]
	if !found {
		decided = d.decide(matches)
		d.known[key] = decided
	}
	return decided
}

// match reports whether a window concerns a cluster.
func (d *Decisions) match(window int, cluster string) match {
	switch {
	case d.concerned[window][cluster], d.windows[window].clusters.All && d.windows[window].clusters.Workspace == "":
		return yes
	case !d.clusters[cluster]:
		return perhaps
	}
	return no
}

// maxSteps is how many openings and closings are checked to find when a deployment may change.
const maxSteps = 1000

func (d *Decisions) decide(matches []byte) error {
	by, _ := d.blockedAt(matches, d.now)
	if by == nil {
		return nil
	}
	at := d.now
	for range maxSteps {
		blocking, until := d.blockedAt(matches, at)
		if blocking == nil {
			return fmt.Errorf("held until %s by window %s", at.In(by.location).Format("Mon 2006-01-02 15:04 MST"), by.Name)
		}
		if until.IsZero() {
			break
		}
		at = until
	}
	return fmt.Errorf("held by window %s, and no time is known at which changes are allowed", by.Name)
}

// blockedAt returns the window that holds a deployment at a time, nil if none does. until is the
// next time at which that can change, zero if it never changes.
func (d *Decisions) blockedAt(matches []byte, at time.Time) (by *Window, until time.Time) {
	if by, until = d.deniedAt(matches, at); by != nil {
		return by, until
	}
	return d.notAllowedAt(matches, at)
}

// deniedAt returns the window that denies changes for the longest time.
func (d *Decisions) deniedAt(matches []byte, at time.Time) (by *Window, until time.Time) {
	for i := range d.windows {
		w := &d.windows[i]
		if w.Effect != Deny || match(matches[i]) == no {
			continue
		}
		since, isOpen := w.openSince(at)
		if end := since.Add(w.duration); isOpen && end.After(until) {
			by, until = w, end
		}
	}
	return by, until
}

// notAllowedAt returns the window that allows changes next. It returns nil if a window allows them
// now, or if no window has to allow them. A window that may concern the deployment never allows
// changes on its own.
func (d *Decisions) notAllowedAt(matches []byte, at time.Time) (by *Window, until time.Time) {
	for i := range d.windows {
		w := &d.windows[i]
		if w.Effect != Allow || match(matches[i]) == no {
			continue
		}
		if _, isOpen := w.openSince(at); isOpen {
			if match(matches[i]) == yes {
				return nil, time.Time{}
			}
			continue
		}
		opens := w.opensAfter(at)
		if isEarlier := !opens.IsZero() && (until.IsZero() || opens.Before(until)); by == nil || isEarlier {
			by, until = w, opens
		}
	}
	return by, until
}
