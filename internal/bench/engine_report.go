package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

const nothingPlanned = "plan of nothing"

// engineSection returns the section of the page about a Fleet as engine.
func engineSection(r engineResult) (string, error) {
	r.Samples = slices.SortedStableFunc(slices.Values(r.Samples), func(a, b engineSample) int { return a.Clusters - b.Clusters })
	return fill("engine.md.tmpl", map[string]any{
		"Bundles": r.Bundles, "Objects": scaleObjects, "Table": r.table().String(), "Requests": r.requestTable().String(),
		"Circumstances": r.Run.String(), "Command": r.Run.Command,
	})
}

func (s engineSample) requests() int {
	total := 0
	for _, count := range s.Requests {
		total += count
	}
	return total
}

// perDeployment returns the milliseconds of the whole command for each deployment.
func (r engineResult) perDeployment(s engineSample) float64 {
	const milliseconds = 1000
	return s.Usage.Seconds * milliseconds / float64(s.Clusters*r.Bundles)
}

func (s engineSample) peak() float64 { return float64(s.Usage.Provider.Peak) / megabyte }

func (r engineResult) table() table {
	t := table{head: []string{"clusters", "deployments", "step", "seconds", "ms for each deployment", "CPU seconds of the provider", "peak memory of the provider", "waiting for Fleet"}}
	for _, one := range r.Samples {
		waiting := "–"
		if one.Waiting > 0 {
			const percent = 100
			waiting = fmt.Sprintf("%.0f %%", one.Waiting/one.Usage.Seconds*percent)
		}
		t.rows = append(t.rows, []string{
			fmt.Sprint(one.Clusters), fmt.Sprint(one.Clusters * r.Bundles), one.Step, fmt.Sprintf("%.1f", one.Usage.Seconds),
			fmt.Sprintf("%.1f", r.perDeployment(one)), fmt.Sprintf("%.1f", one.Usage.Provider.CPU), fmt.Sprintf("%.0f MB", one.peak()), waiting,
		})
	}
	return t
}

// requestTable has a column for each verb that the provider used.
func (r engineResult) requestTable() table {
	verbs := map[string]bool{}
	for _, one := range r.Samples {
		for verb := range one.Requests {
			verbs[verb] = verb != furtherPages
		}
	}
	columns := slices.DeleteFunc(slices.Sorted(maps.Keys(verbs)), func(verb string) bool { return !verbs[verb] })
	columns = append(columns, furtherPages)
	t := table{head: append([]string{"step", "clusters"}, columns...)}
	for _, name := range r.steps() {
		for _, one := range r.of(name) {
			row := []string{name, fmt.Sprint(one.Clusters)}
			for _, verb := range columns {
				row = append(row, fmt.Sprint(one.Requests[verb]))
			}
			t.rows = append(t.rows, row)
		}
	}
	return t
}

func (r engineResult) steps() []string {
	var names []string
	for _, one := range r.Samples {
		if !slices.Contains(names, one.Step) {
			names = append(names, one.Step)
		}
	}
	return names
}

func (r engineResult) of(step string) []engineSample {
	return slices.DeleteFunc(slices.Clone(r.Samples), func(one engineSample) bool { return one.Step != step })
}

// largest returns the sample of the plan of nothing with the most clusters.
func (r engineResult) largest() (engineSample, bool) {
	plans := r.of(nothingPlanned)
	if len(plans) == 0 {
		return engineSample{}, false
	}
	return slices.MaxFunc(plans, func(a, b engineSample) int { return a.Clusters - b.Clusters }), true
}

// engineTimeLimit is in milliseconds for each deployment.
const engineTimeLimit = 2

func (r engineResult) timeRow() requirementRow {
	row := requirementRow{What: "engine: plan of nothing, for each deployment", Limit: "≤ 2 ms", Measured: notMeasured, Floor: "–", Verdict: "–"}
	if one, found := r.largest(); found {
		took := r.perDeployment(one)
		row.Measured = fmt.Sprintf("%.2f ms (%d deployments)", took, one.Clusters*r.Bundles)
		row.Verdict = verdict(took <= engineTimeLimit)
	}
	return row
}

func (r engineResult) memoryRow() requirementRow {
	row := requirementRow{What: "engine: memory of a plan of nothing", Limit: "≤ 200 MB", Measured: notMeasured, Floor: "–", Verdict: "–"}
	if one, found := r.largest(); found {
		row.Measured = fmt.Sprintf("%.0f MB (%d clusters)", one.peak(), one.Clusters)
		row.Verdict = verdict(one.peak() <= memoryLimit)
	}
	return row
}

// requestsRow compares the requests of plans of nothing without further pages.
func (r engineResult) requestsRow() requirementRow {
	row := requirementRow{What: "engine: requests of a plan of nothing, without further pages", Limit: "the same for any number of clusters", Measured: notMeasured, Floor: "–", Verdict: "–"}
	plans := slices.SortedFunc(slices.Values(r.of(nothingPlanned)), func(a, b engineSample) int { return a.Clusters - b.Clusters })
	if len(plans) < 2 { // A single plan has nothing to differ from.
		return row
	}
	var counts, clusters []string
	for _, one := range plans {
		counts = append(counts, fmt.Sprint(one.requests()-one.Requests[furtherPages]))
		clusters = append(clusters, fmt.Sprint(one.Clusters))
	}
	row.Measured = fmt.Sprintf("%s (%s clusters)", strings.Join(counts, ", "), strings.Join(clusters, ", "))
	row.Verdict = verdict(len(slices.Compact(counts)) == 1)
	return row
}
