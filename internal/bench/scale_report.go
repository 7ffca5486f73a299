package main

import (
	"fmt"
	"slices"
)

// scaleSection returns the section of the page about growth.
func scaleSection(r scaleResult) (string, error) {
	growth := ""
	if fitted := r.growth(); len(fitted.rows) > 0 {
		growth = fitted.String()
	}
	return fill("scale.md.tmpl", map[string]any{
		"Bundles": r.Bundles, "Clusters": clusterCount, "Table": r.table().String(), "Growth": growth,
		"Circumstances": r.Run.String(), "Command": r.Run.Command,
	})
}

func entries(one scaleSample) float64      { return float64(one.Entries) }
func providerPeak(one scaleSample) float64 { return float64(one.Usage.Provider.Peak) / megabyte }
func scaleCPU(one scaleSample) float64     { return one.Usage.CPU }
func scaleSeconds(one scaleSample) float64 { return one.Usage.Seconds }

func (r scaleResult) steps() []string {
	var names []string
	for _, one := range r.Samples {
		if !slices.Contains(names, one.Step) {
			names = append(names, one.Step)
		}
	}
	return names
}

func (r scaleResult) table() table {
	t := table{head: []string{"clusters", "deployments", "step", "seconds", "CPU seconds", "of them Terraform's own", "peak memory of the provider", "processes of the provider"}}
	for _, one := range r.Samples {
		t.rows = append(t.rows, []string{
			fmt.Sprint(one.Entries), fmt.Sprint(one.Entries * r.Bundles), one.Step,
			fmt.Sprintf("%.1f", one.Usage.Seconds), fmt.Sprintf("%.1f", one.Usage.CPU), fmt.Sprintf("%.1f", one.Usage.Terraform),
			fmt.Sprintf("%.0f MB", providerPeak(one)), fmt.Sprint(one.Usage.Provider.Processes),
		})
	}
	return t
}

// growth returns the table of the lines that are fitted to memory and time.
func (r scaleResult) growth() table {
	t := table{head: []string{"step", "memory at no cluster", "for each further cluster", "R²", "time at no deployment", "for each further deployment", "R²"}}
	deployments := func(one scaleSample) float64 { return float64(one.Entries * r.Bundles) }
	for _, name := range r.steps() {
		memory, there := r.fit(name, entries, providerPeak)
		time, also := r.fit(name, deployments, scaleSeconds)
		if !there || !also {
			continue
		}
		const milliseconds = 1000
		t.rows = append(t.rows, []string{
			name, fmt.Sprintf("%.0f MB", memory.Intercept), fmt.Sprintf("%.2f MB", memory.Slope), fmt.Sprintf("%.3f", memory.Fit),
			fmt.Sprintf("%.1f s", time.Intercept), fmt.Sprintf("%.1f ms", time.Slope*milliseconds), fmt.Sprintf("%.3f", time.Fit),
		})
	}
	return t
}

// fit fits a line to the samples of a step.
func (r scaleResult) fit(name string, along, of func(scaleSample) float64) (line, bool) {
	var x, y []float64
	for _, one := range r.Samples {
		if one.Step == name {
			x, y = append(x, along(one)), append(y, of(one))
		}
	}
	return lineOf(x, y)
}
