package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Sizes of the plot, in pixels.
const (
	panelWidth  = 460
	panelHeight = 240
	marginLeft  = 44
	marginTop   = 30
	legendSpace = 50
	plotWidth   = panelWidth - marginLeft - 16
	plotHeight  = panelHeight - marginTop - 40
)

// A panel is the bars of one cell.
type panel struct {
	X, Y   int
	Title  string
	Bars   []bar
	Ticks  []mark
	Labels []mark
}

// A bar is the median of one step of one contender.
type bar struct {
	X, Y, Width, Height float64
	Class, Text         string
}

// A mark is a text at a place.
type mark struct {
	X, Y float64
	Text string
}

// plotOf draws seconds by step and contender, one panel for each cell, on a logarithmic scale.
func plotOf(r contestResult) (string, error) {
	cells := r.cells()
	// Cells with waiting come in pairs of networks.
	slices.SortStableFunc(cells, func(a, b cell) int { return cmp.Compare(waiting(a.Wait), waiting(b.Wait)) })
	low, high := r.decades()
	var panels []panel
	const columns = 2
	for i, in := range cells {
		p := r.panel(in, low, high)
		p.X, p.Y = i%columns*panelWidth, legendSpace+i/columns*panelHeight
		panels = append(panels, p)
	}
	var legend []bar
	x := float64(marginLeft)
	for _, name := range r.everybody() {
		legend = append(legend, bar{X: x, Class: name, Text: title(name)})
		x += 36 + 6.5*float64(len(title(name)))
	}
	rows := (len(cells) + columns - 1) / columns
	return fill("plot.svg.tmpl", map[string]any{
		"Width": columns * panelWidth, "Height": legendSpace + rows*panelHeight + 8, "Panels": panels, "Legend": legend,
		"PlotWidth": plotWidth, "PlotHeight": plotHeight, "Left": marginLeft, "Top": marginTop,
	})
}

// everybody returns the contenders of any cell.
func (r contestResult) everybody() []string {
	return slices.DeleteFunc(allContenders(), func(name string) bool {
		return !slices.ContainsFunc(r.Samples, func(one sample) bool { return one.Contender == name })
	})
}

// decades returns the powers of ten around all medians.
func (r contestResult) decades() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, one := range r.Samples {
		value := math.Log10(max(one.Usage.Seconds, 0.001))
		low, high = min(low, math.Floor(value)), max(high, math.Ceil(value))
	}
	if low >= high {
		return -1, 2 // An empty plot.
	}
	return low, high
}

func (r contestResult) panel(in cell, low, high float64) panel {
	p := panel{Title: fmt.Sprintf("%s, %s", in.Work, networkTitle(in))}
	height := func(value float64) float64 {
		return max(1, (math.Log10(max(value, 0.001))-low)/(high-low)*plotHeight)
	}
	for power := low; power <= high; power++ {
		value := math.Pow(10, power)
		p.Ticks = append(p.Ticks, mark{Y: marginTop + plotHeight - (power-low)/(high-low)*plotHeight, Text: fmt.Sprintf("%g s", value)})
	}
	contenders := r.contenders(in)
	group := float64(plotWidth) / float64(len(timedSteps()))
	width := group * 0.84 / float64(len(contenders))
	for i, s := range timedSteps() {
		begin := marginLeft + float64(i)*group + group*0.08
		p.Labels = append(p.Labels, mark{X: marginLeft + (float64(i)+0.5)*group, Y: marginTop + plotHeight + 16, Text: string(s)})
		for j, name := range contenders {
			took, there := r.of(in, name, s, seconds)
			if !there {
				continue
			}
			tall := height(took.Median)
			p.Bars = append(p.Bars, bar{
				X: begin + float64(j)*width, Y: marginTop + plotHeight - tall, Width: width * 0.92, Height: tall,
				Class: name, Text: fmt.Sprintf("%s, %s: %.2f s", title(name), stepTitle(s), took.Median),
			})
		}
	}
	return p
}
