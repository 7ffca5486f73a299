package main

import "fmt"

// An askedRow compares a requirement on this provider with the measured value.
type askedRow struct{ What, Limit, Measured, Floor, Verdict string }

const notMeasured = "not measured"

// askedSection returns the section of the page about requirements.
func askedSection(contest contestResult, scale scaleResult, engine engineResult) (string, error) {
	return fill("asked.md.tmpl", map[string]any{"Rows": asked(contest, scale, engine)})
}

// asked returns the requirements on speed and size, row by row.
func asked(contest contestResult, scale scaleResult, engine engineResult) []askedRow {
	small := cell{Work: work{Releases: 10, Objects: 4}, Network: "loopback", Wait: true}
	const peer = "helm-provider"
	rows := []askedRow{
		contest.askRatio("first apply", small, install, peer, 1.0/3, "≤ 1/3"),
		contest.askRatio("first apply, the aim", small, install, peer, 1.0/5, "≤ 1/5"),
		contest.askRatio("change one value everywhere", small, change, peer, 1.0/3, "≤ 1/3"),
		contest.askRatio("plan, nothing changed, with live drift detection", small, nothing, peer, 1, "≤ 1"),
		contest.askRatio("destroy", small, destroy, peer, 1.0/2, "≤ 1/2"),
	}
	for _, wait := range []bool{true, false} {
		middling := cell{Work: work{Releases: 10, Objects: 40}, Network: "50ms", Wait: wait}
		for _, s := range []step{install, change} {
			what := fmt.Sprintf("releases of 40 objects, 50 ms%s: %s", waiting(wait), s)
			rows = append(rows, contest.askRatio(what, middling, s, "helm", 1.0/4, "≤ 1/4"))
		}
	}
	return append(rows, scale.askMemory(), scale.askGrowth(), scale.askProcesses(), engine.askTime(), engine.askMemory(), engine.askRequests())
}

// askRatio compares this provider's median with another's.
func (r contestResult) askRatio(what string, in cell, s step, other string, limit float64, text string) askedRow {
	row := askedRow{What: what, Limit: text + " of " + title(other), Measured: notMeasured, Floor: "–", Verdict: "–"}
	own, there := r.of(in, "fleet", s, seconds)
	against, compared := r.of(in, other, s, seconds)
	if !there || !compared {
		return row
	}
	ratio := own.Median / against.Median
	row.Measured = fmt.Sprintf("%.3f (%.2f s of %.2f s)", ratio, own.Median, against.Median)
	row.Verdict = verdict(ratio <= limit)
	lowest := "floor-ready"
	if !in.Wait {
		lowest = "floor"
	}
	if floor, there := r.of(in, lowest, s, seconds); there {
		row.Floor = fmt.Sprintf("%.3f (%.2f s)", floor.Median/against.Median, floor.Median)
	}
	return row
}

func verdict(met bool) string {
	if met {
		return "met"
	}
	return "**not met**"
}

// Limits on memory, in megabytes.
const (
	memoryLimit = 200
	growthLimit = 5
)

// askMemory returns the row for the peak memory with twenty clusters, over all steps.
func (r scaleResult) askMemory() askedRow {
	const twenty = 20
	row := askedRow{What: "memory of the provider, 20 clusters", Limit: "≤ 200 MB", Measured: notMeasured, Floor: "–", Verdict: "–"}
	most := 0.0
	for _, one := range r.Samples {
		if one.Entries == twenty {
			most = max(most, providerPeak(one))
		}
	}
	if most > 0 {
		row.Measured, row.Verdict = fmt.Sprintf("%.0f MB", most), verdict(most <= memoryLimit)
	}
	return row
}

// askGrowth returns the row for the steepest growth of memory among the steps.
func (r scaleResult) askGrowth() askedRow {
	row := askedRow{What: "memory for each further cluster", Limit: "≤ 5 MB", Measured: notMeasured, Floor: "–", Verdict: "–"}
	steepest, found := 0.0, false
	for _, name := range r.steps() {
		if grown, there := r.fit(name, entries, providerPeak); there {
			steepest, found = max(steepest, grown.Slope), true
		}
	}
	if found {
		row.Measured, row.Verdict = fmt.Sprintf("%.2f MB", steepest), verdict(steepest <= growthLimit)
	}
	return row
}

// askProcesses returns the row for the number of processes of the provider.
func (r scaleResult) askProcesses() askedRow {
	row := askedRow{What: "processes of the provider at once", Limit: "1", Measured: notMeasured, Floor: "–", Verdict: "–"}
	most := 0
	for _, one := range r.Samples {
		most = max(most, one.Usage.Provider.Processes)
	}
	if most > 0 {
		row.Measured, row.Verdict = fmt.Sprint(most), verdict(most == 1)
	}
	return row
}
