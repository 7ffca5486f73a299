package main

import "fmt"

// A requirementRow compares a requirement on this provider with the measured value.
type requirementRow struct{ What, Limit, Measured, Floor, Verdict string }

const notMeasured = "not measured"

// requirementsSection returns the section of the page about requirements.
func requirementsSection(contest contestResult, scale scaleResult, engine engineResult) (string, error) {
	return fill("requirements.md.tmpl", map[string]any{"Rows": requirements(contest, scale, engine)})
}

// requirements returns the requirements on speed and size, row by row.
func requirements(contest contestResult, scale scaleResult, engine engineResult) []requirementRow {
	small := cell{Work: work{Releases: 10, Objects: 4}, Network: "loopback", Wait: true}
	const peer = "helm-provider"
	var rows []requirementRow
	for _, of := range []struct {
		step      step
		time, cpu float64
	}{
		{install, 0.18, 0.15}, {change, 0.18, 0.15}, {nothing, 0.3, 0.2}, {remove, 0.33, 0.25}, {destroy, 0.33, 0.25},
	} {
		rows = append(rows, contest.ratioRow(stepTitle(of.step), small, of.step, peer, seconds, of.time),
			contest.ratioRow(stepTitle(of.step)+": CPU", small, of.step, peer, cpu, of.cpu))
	}
	for _, wait := range []bool{true, false} {
		middling := cell{Work: work{Releases: 10, Objects: 40}, Network: "50ms", Wait: wait}
		for _, s := range []step{install, change} {
			what := fmt.Sprintf("releases of 40 objects, 50 ms%s: %s", waiting(wait), s)
			rows = append(rows, contest.ratioRow(what, middling, s, "helm", seconds, 0.25))
		}
	}
	for _, of := range []struct {
		step  string
		limit float64
	}{
		{createApplied, 5}, {changeApplied, 8}, {destroyed, 5},
	} {
		rows = append(rows, scale.deploymentRow(of.step, "CPU", of.limit, scaleCPU))
	}
	rows = append(rows, scale.deploymentRow(nothingPlanned, "time", 1, scaleSeconds))
	return append(rows, scale.memoryRow(), scale.growthRow(), scale.processesRow(), engine.timeRow(), engine.memoryRow(), engine.requestsRow())
}

// ratioRow compares this provider's median of a number of seconds with another's.
func (r contestResult) ratioRow(what string, in cell, s step, other string, of number, limit float64) requirementRow {
	row := requirementRow{What: what, Limit: fmt.Sprintf("≤ %.2f of %s", limit, title(other)), Measured: notMeasured, Floor: "–", Verdict: "–"}
	own, there := r.of(in, "fleet", s, of)
	against, compared := r.of(in, other, s, of)
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
	if floor, there := r.of(in, lowest, s, of); there {
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

// deploymentRow returns the row for what a deployment costs with two hundred clusters, in milliseconds.
// The floor is the CPU time of Terraform itself.
func (r scaleResult) deploymentRow(step, what string, limit float64, of func(scaleSample) float64) requirementRow {
	const many = 200
	row := requirementRow{
		What: fmt.Sprintf("%d clusters: %s, %s for each deployment", many, step, what), Limit: fmt.Sprintf("≤ %.0f ms", limit),
		Measured: notMeasured, Floor: "–", Verdict: "–",
	}
	for _, one := range r.Samples {
		if one.Entries != many || one.Step != step {
			continue
		}
		deployments := one.Entries * r.Bundles
		each := func(seconds float64) float64 { return 1000 * seconds / float64(deployments) }
		row.Measured = fmt.Sprintf("%.1f ms (%d deployments)", each(of(one)), deployments)
		row.Floor = fmt.Sprintf("%.1f ms", each(one.Usage.Terraform))
		row.Verdict = verdict(each(of(one)) <= limit)
	}
	return row
}

// Limits on memory, in megabytes.
const (
	memoryLimit = 200
	growthLimit = 5
)

// memoryRow returns the row for the peak memory with twenty clusters, over all steps.
func (r scaleResult) memoryRow() requirementRow {
	const twenty = 20
	row := requirementRow{What: "memory of the provider, 20 clusters", Limit: "≤ 200 MB", Measured: notMeasured, Floor: "–", Verdict: "–"}
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

// growthRow returns the row for the steepest growth of memory among the steps.
func (r scaleResult) growthRow() requirementRow {
	row := requirementRow{What: "memory for each further cluster", Limit: "≤ 5 MB", Measured: notMeasured, Floor: "–", Verdict: "–"}
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

// processesRow returns the row for the number of processes of the provider.
func (r scaleResult) processesRow() requirementRow {
	row := requirementRow{What: "processes of the provider at once", Limit: "1", Measured: notMeasured, Floor: "–", Verdict: "–"}
	most := 0
	for _, one := range r.Samples {
		most = max(most, one.Usage.Provider.Processes)
	}
	if most > 0 {
		row.Measured, row.Verdict = fmt.Sprint(most), verdict(most == 1)
	}
	return row
}
