package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// contestSection returns the section of the page about a contest.
func contestSection(r contestResult) (string, error) {
	type part struct{ Title, Times, Resources, Requests string }
	var parts []part
	for _, in := range r.cells() {
		parts = append(parts, part{
			Title: fmt.Sprintf("%s, %s: %s", in.Work, networkTitle(in), plural(r.rounds(in), "round")),
			Times: r.times(in).String(), Resources: r.resources(in).String(), Requests: r.requests(in),
		})
	}
	return fill("contest.md.tmpl", map[string]any{"Parts": parts, "Circumstances": r.Run.String(), "Command": r.Run.Command})
}

func plural(count int, noun string) string {
	if count == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", count, noun)
}

// times returns seconds and ratios, by step and contender.
func (r contestResult) times(in cell) table {
	contenders := r.contenders(in)
	t := table{head: titles("seconds", contenders)}
	for _, s := range timedSteps() {
		own, _ := r.of(in, "fleet", s, seconds)
		row := []string{stepTitle(s)}
		for _, name := range contenders {
			took, there := r.of(in, name, s, seconds)
			row = append(row, timeText(took, there, own.Median))
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// timeText returns a median with its range, and the ratio to this provider's median.
func timeText(took spread, there bool, own float64) string {
	if !there {
		return "–"
	}
	text := fmt.Sprintf("**%.2f** (%.2f–%.2f)", took.Median, took.Min, took.Max)
	if own > 0 {
		text += fmt.Sprintf(" ×%.2f", took.Median/own)
	}
	return text
}

// resources returns CPU seconds and memory, by step and contender.
func (r contestResult) resources(in cell) table {
	contenders := r.contenders(in)
	t := table{head: titles("CPU seconds, peak MB", contenders)}
	for _, s := range timedSteps() {
		row := []string{stepTitle(s)}
		for _, name := range contenders {
			row = append(row, r.resourceText(in, name, s))
		}
		t.rows = append(t.rows, row)
	}
	return t
}

func (r contestResult) resourceText(in cell, contender string, s step) string {
	used, there := r.of(in, contender, s, cpu)
	if !there {
		return "–"
	}
	memory, _ := r.of(in, contender, s, peak)
	text := fmt.Sprintf("%.2f s, %.0f MB", used.Median, memory.Median)
	if most, _ := r.of(in, contender, s, providers); most.Max > 0 {
		alone, _ := r.of(in, contender, s, func(one sample) float64 { return one.Usage.Provider.CPU })
		highest, _ := r.of(in, contender, s, func(one sample) float64 { return float64(one.Usage.Provider.Peak) / megabyte })
		text += fmt.Sprintf(" (%d of the provider: %.2f s, %.0f MB)", int(most.Max), alone.Median, highest.Median)
	}
	return text
}

// requests returns the requests to each cluster, by contender and step; "" if they were not
// counted.
func (r contestResult) requests(in cell) string {
	verbs := r.verbs(in)
	if len(verbs) == 0 {
		return ""
	}
	t := table{head: slices.Concat([]string{"requests to each cluster", "step"}, verbs, []string{"all"})}
	for _, name := range r.contenders(in) {
		for _, s := range timedSteps() {
			row := []string{title(name), stepTitle(s)}
			all, there := r.of(in, name, s, func(one sample) float64 { return perCluster(sum(one.Requests)) })
			if !there {
				continue
			}
			for _, verb := range verbs {
				count, _ := r.of(in, name, s, func(one sample) float64 { return perCluster(one.Requests[verb]) })
				row = append(row, countText(count.Median))
			}
			t.rows = append(t.rows, append(row, countText(all.Median)))
		}
	}
	return t.String()
}

// perCluster returns the average number of requests for each cluster.
func perCluster(count int) float64 { return float64(count) / clusterCount }

func sum(requests map[string]int) int {
	all := 0
	for _, count := range requests {
		all += count
	}
	return all
}

func countText(count float64) string {
	if count == 0 {
		return "–"
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", count), ".0")
}

// String describes the circumstances of a run in a sentence or two.
func (r run) String() string {
	var versions []string
	for _, name := range slices.Sorted(maps.Keys(r.Versions)) {
		version := r.Versions[name]
		if version == "" {
			version = "of a version that its binary does not tell"
		}
		versions = append(versions, name+" "+strings.TrimPrefix(version, "v"))
	}
	return fmt.Sprintf("Measured on %s at commit %s, on %d cores (%s) with %d GB of memory under %s, clusters and contenders together, with a load average of %.1f before that; %s.",
		r.Date, r.Commit, r.Machine.Cores, r.Machine.Processor, (r.Machine.Memory+1<<29)>>30, r.Machine.Kernel, r.Machine.Load, strings.Join(versions, ", "))
}
