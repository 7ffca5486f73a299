package window

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// times are the times at which a window opens, in local time. Next returns the next time, and the
// zero time if there is none within five years.
type times = cron.Schedule

// days are the names of days of the week in cron.
func days() []string { return []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"} }

// parseCron reads five fields of cron.
func parseCron(text string) (times, error) {
	if err := checkCron(text); err != nil {
		return nil, err
	}
	return parse(cron.Minute|cron.Hour|cron.Dom|cron.Month|cron.Dow, text)
}

// checkCron refuses what the library supports in addition to the fields: a time zone, and intervals
// that start when the text is read.
func checkCron(text string) error {
	if strings.Contains(text, "=") {
		return errors.New("a time zone does not belong there")
	}
	if strings.HasPrefix(text, "@every") {
		return errors.New("@every has no fixed times")
	}
	return nil
}

func parse(options cron.ParseOption, text string) (times, error) {
	parsed, err := cron.NewParser(options).Parse(text)
	if err != nil {
		return nil, fmt.Errorf("cannot read %q: %w", text, err)
	}
	if parsed.Next(time.Unix(0, 0).UTC()).IsZero() {
		return nil, fmt.Errorf("%q is a day that does not exist", text)
	}
	return parsed, nil
}

// parseWeekly reads days of the week and a time of day.
func parseWeekly(names []string, start string) (times, error) {
	at, err := time.Parse("15:04", start)
	if err != nil {
		return nil, fmt.Errorf("start %q is no time of day such as 22:00", start)
	}
	if len(names) == 0 {
		return nil, errors.New("days is empty")
	}
	for _, name := range names {
		if !slices.Contains(days(), name) {
			return nil, fmt.Errorf("%q in days is not one of %s", name, strings.Join(days(), ", "))
		}
	}
	return parseCron(fmt.Sprintf("%d %d * * %s", at.Minute(), at.Hour(), strings.Join(names, ",")))
}

// wall returns the local time of t as a time in UTC.
func wall(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

// instantOf returns when local time first reaches a time. If clocks skip the time, it is the moment
// at which they do.
func instantOf(shown time.Time, in *time.Location) time.Time {
	t := time.Date(shown.Year(), shown.Month(), shown.Day(), shown.Hour(), shown.Minute(), shown.Second(), shown.Nanosecond(), in)
	start, end := t.ZoneBounds()
	switch {
	case wall(t).After(shown):
		return start
	case wall(t).Before(shown):
		return end
	}
	if isSecondPass(t) {
		return t.Add(-repeated(start))
	}
	return t
}

// repeated returns how much local time occurs twice when a period of a zone begins.
func repeated(start time.Time) time.Duration {
	if start.IsZero() {
		return 0
	}
	_, before := start.Add(-1).Zone()
	_, after := start.Zone()
	return max(0, time.Duration(before-after)*time.Second)
}

// isSecondPass reports whether a local time occurs for the second time.
func isSecondPass(t time.Time) bool {
	start, _ := t.ZoneBounds()
	return !start.IsZero() && t.Sub(start) < repeated(start)
}

// latestShown returns the latest local time that has occurred so far.
func latestShown(t time.Time) time.Time {
	if isSecondPass(t) {
		start, _ := t.ZoneBounds()
		return wall(start.Add(-1))
	}
	return wall(t)
}

// openSince returns when the window opened last, and whether it is still open.
func (w Window) openSince(t time.Time) (since time.Time, isOpen bool) {
	t = t.In(w.location)
	shown := latestShown(t)
	// The search doubles its distance: a window that opens often is found at once, others in few
	// steps.
	for back := time.Minute; ; back *= 2 {
		from := shown.Add(-back)
		var last time.Time
		for next := w.times.Next(from); !next.IsZero() && !next.After(shown); next = w.times.Next(next) {
			last = next
		}
		if !last.IsZero() {
			since = instantOf(last, w.location)
			return since, t.Before(since.Add(w.duration))
		}
		if !instantOf(from, w.location).After(t.Add(-w.duration)) {
			return time.Time{}, false
		}
	}
}

// opensAfter returns when the window opens next, the zero time if that is not within five years.
func (w Window) opensAfter(t time.Time) time.Time {
	next := w.times.Next(latestShown(t.In(w.location)))
	if next.IsZero() {
		return next
	}
	return instantOf(next, w.location)
}
