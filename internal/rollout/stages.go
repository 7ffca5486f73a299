package rollout

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Forecast is the result of an order if every step succeeds.
type Forecast struct {
	// Held is why steps that are not as wanted do not begin.
	Held map[int]error
	// Text describes which steps begin after which others.
	Text string
	// Stages are the steps that start together.
	Stages []Stage
}

// Stage is a set of steps that start together.
type Stage struct {
	// Text names the deployments, without the number of the stage.
	Text        string
	Deployments []target.Deployment
}

// errStuck is the error for a cycle across several clusters: rollout strategies require one order
// of clusters, and dependencies require another.
var errStuck = errors.New("its rollout strategy and its dependencies wait for each other; " +
	"use the same order of clusters in the rollout strategies of these bundles")

// Simulate processes the order as if every step succeeded. Steps that would wait for ever become
// faults.
func Simulate(order *Order) Forecast {
	var stages []Stage
	for {
		begin, _ := order.Next()
		if len(begin) == 0 {
			break
		}
		if text := stageText(order, begin); text != "" {
			stages = append(stages, Stage{Text: text, Deployments: order.deployments(begin)})
		}
		for _, i := range begin {
			order.Finish(i, ready)
		}
	}
	for i, phase := range order.at.phases {
		if phase != finished {
			order.at.faults[i] = errStuck
			order.at.hold(i, errStuck)
		}
	}
	lines := numbered(stages)
	if text := heldText(order.at); text != "" {
		lines = append(lines, "Held: "+text)
	}
	return Forecast{Held: order.at.held, Text: strings.Join(lines, "\n"), Stages: stages}
}

func (o *Order) deployments(steps []int) []target.Deployment {
	deployments := make([]target.Deployment, len(steps))
	for k, i := range steps {
		deployments[k] = o.at.steps[i].Deployment
	}
	return deployments
}

// numbered adds numbers to stages. If there are very many, for example one for each cluster, only
// the first ones and the last are listed.
func numbered(stages []Stage) []string {
	const most = 30
	lines := make([]string, 0, most)
	for i, stage := range stages {
		switch {
		case len(stages) <= most || i < most-2 || i == len(stages)-1:
			lines = append(lines, fmt.Sprintf("%d. %s", i+1, stage.Text))
		case i == most-2:
			lines = append(lines, fmt.Sprintf("%d to %d: the same, one after the other", i+1, len(stages)-1))
		}
	}
	return lines
}

// stageText describes steps that begin together: "web on a, b (partition canary)".
func stageText(o *Order, begin []int) string {
	return listText(o.at.steps, begin, func(i int) string {
		if r := o.rollouts[i]; r != nil {
			if p := r.partitionOf(i); p != nil {
				return " (partition " + p.name + ")"
			}
		}
		return ""
	})
}

func heldText(at *progress) string {
	var held []int
	for i := range at.steps {
		if at.held[i] != nil {
			held = append(held, i)
		}
	}
	return listText(at.steps, held, func(int) string { return "" })
}

// listText lists the clusters of the steps, by bundle and remark.
func listText(steps []Step, listed []int, remark func(int) string) string {
	type group struct{ bundle, remark string }
	clusters := map[group][]string{}
	var groups []group
	for _, i := range listed {
		if !steps[i].Change {
			continue
		}
		g := group{steps[i].Deployment.Bundle.Name, remark(i)}
		if clusters[g] == nil {
			groups = append(groups, g)
		}
		clusters[g] = append(clusters[g], steps[i].Deployment.Cluster)
	}
	slices.SortFunc(groups, func(a, b group) int { return strings.Compare(a.bundle+" "+a.remark, b.bundle+" "+b.remark) })
	words := make([]string, len(groups))
	for k, g := range groups {
		words[k] = g.bundle + " on " + clustersText(clusters[g]) + g.remark
	}
	return strings.Join(words, "; ")
}

func clustersText(clusters []string) string {
	names := slices.Sorted(slices.Values(clusters))
	const shown = 5
	if len(names) > shown {
		return fmt.Sprintf("%d clusters, %s to %s", len(names), names[0], names[len(names)-1])
	}
	return strings.Join(names, ", ")
}
