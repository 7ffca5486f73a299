package main

import (
	"slices"

	"gonum.org/v1/gonum/stat"
)

// A spread sums up the values of several rounds.
type spread struct{ Median, Min, Max float64 }

// spreadOf returns false without values.
func spreadOf(values []float64) (spread, bool) {
	if len(values) == 0 {
		return spread{}, false
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	median := sorted[middle]
	if len(sorted)%2 == 0 {
		median = (sorted[middle-1] + median) / 2
	}
	return spread{Median: median, Min: sorted[0], Max: sorted[len(sorted)-1]}, true
}

// A line is a linear fit: Slope is the growth for each step of x, and Fit is R².
type line struct{ Slope, Intercept, Fit float64 }

// lineOf fits a line by least squares. It returns false with fewer than three points, because such
// a line would prove nothing.
func lineOf(x, y []float64) (line, bool) {
	const few = 3
	if len(x) < few || len(x) != len(y) {
		return line{}, false
	}
	intercept, slope := stat.LinearRegression(x, y, nil, false)
	return line{Slope: slope, Intercept: intercept, Fit: stat.RSquared(x, y, nil, intercept, slope)}, true
}

// A number returns one number of a sample.
type number func(sample) float64

func seconds(s sample) float64   { return s.Usage.Seconds }
func cpu(s sample) float64       { return s.Usage.CPU }
func peak(s sample) float64      { return float64(s.Usage.Peak) / megabyte }
func providers(s sample) float64 { return float64(s.Usage.Provider.Processes) }

// of returns the spread of a number over the rounds of a step.
func (r contestResult) of(in cell, contender string, s step, of number) (spread, bool) {
	var values []float64
	for _, one := range r.Samples {
		if one.Cell == in && one.Contender == contender && one.Step == s {
			values = append(values, of(one))
		}
	}
	return spreadOf(values)
}

// cells returns the cells that were measured, in their order.
func (r contestResult) cells() []cell {
	var cells []cell
	for _, one := range r.Samples {
		if !slices.Contains(cells, one.Cell) {
			cells = append(cells, one.Cell)
		}
	}
	return cells
}

// rounds returns the number of rounds of a cell.
func (r contestResult) rounds(in cell) int {
	rounds := 0
	for _, one := range r.Samples {
		if one.Cell == in {
			rounds = max(rounds, one.Round+1)
		}
	}
	return rounds
}

// contenders returns the contenders of a cell, in the order of allContenders.
func (r contestResult) contenders(in cell) []string {
	return slices.DeleteFunc(allContenders(), func(name string) bool {
		return !slices.ContainsFunc(r.Samples, func(one sample) bool { return one.Cell == in && one.Contender == name })
	})
}

// verbs returns the verbs that contenders of a cell used.
func (r contestResult) verbs(in cell) []string {
	used := map[string]bool{}
	for _, one := range r.Samples {
		for verb := range one.Requests {
			if one.Cell == in {
				used[verb] = true
			}
		}
	}
	order := []string{"get", "list", "watch", "create", "update", "patch", "delete"}
	verbs := slices.DeleteFunc(slices.Clone(order), func(verb string) bool { return !used[verb] })
	var others []string
	for verb := range used {
		if !slices.Contains(order, verb) {
			others = append(others, verb)
		}
	}
	slices.Sort(others)
	return append(verbs, others...)
}
