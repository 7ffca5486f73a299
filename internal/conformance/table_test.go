package conformance_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// verdict is the result of comparing one thing with its recording.
type verdict string

const (
	equal    verdict = "equal"
	deviates verdict = "deviates as promised"
	wrong    verdict = "wrong"
)

// The layers that are compared.
const (
	layerNames       = "A names"
	layerDefinitions = "B definitions"
	layerFiles       = "B files"
	layerOptions     = "C options"
	layerObjects     = "D objects"
	layerErrors      = "E errors"
)

// finding is the verdict on one thing in one layer.
type finding struct {
	layer, what string
	verdict     verdict
	detail      string
}

// table counts findings by layer and verdict.
type table map[string]map[verdict]int

func (t table) add(f finding) {
	if t[f.layer] == nil {
		t[f.layer] = map[verdict]int{}
	}
	t[f.layer][f.verdict]++
}

func (t table) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%-14s", "")
	verdicts := []verdict{equal, deviates, wrong}
	for _, v := range verdicts {
		fmt.Fprintf(&text, "%22s", v)
	}
	for _, layer := range slices.Sorted(maps.Keys(t)) {
		fmt.Fprintf(&text, "\n%-14s", layer)
		for _, v := range verdicts {
			fmt.Fprintf(&text, "%22d", t[layer][v])
		}
	}
	return text.String()
}
