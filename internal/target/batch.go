package target

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// batch collects what the evaluator runs for one bundle. Clusters whose templates and contexts are
// equal share one run.
type batch struct {
	request  Templates
	reads    []reads          // Of sets, by index.
	sets     map[string]int   // By identity.
	contexts map[string][]int // By their JSON.
	runs     map[TemplateRun]int
}

func newBatch() *batch {
	return &batch{sets: make(map[string]int), contexts: make(map[string][]int), runs: make(map[TemplateRun]int)}
}

// add returns the index of the run of these templates for the cluster.
func (b *batch) add(t *templates, c *candidate) int {
	set := b.set(t)
	run := TemplateRun{Set: set, Context: b.context(c, b.reads[set])}
	if known, ok := b.runs[run]; ok {
		return known
	}
	b.request.Runs = append(b.request.Runs, run)
	b.runs[run] = len(b.request.Runs) - 1
	return b.runs[run]
}

func (b *batch) set(t *templates) int {
	key := t.identity()
	if known, ok := b.sets[key]; ok {
		return known
	}
	set := t.complete()
	b.request.Sets = append(b.request.Sets, set)
	b.reads = append(b.reads, readsOf(set))
	b.sets[key] = len(b.request.Sets) - 1
	return b.sets[key]
}

// context returns the index of the context of the cluster. Contexts of equal JSON can have
// different types, such as 1 and 1.0, so they are compared twice.
func (b *batch) context(c *candidate, r reads) int {
	context := r.of(c.context())
	text, err := json.Marshal(context)
	if err != nil {
		text = fmt.Appendf(nil, "cluster %s", c.Name) // A context that is no JSON is not shared.
	}
	for _, known := range b.contexts[string(text)] {
		if reflect.DeepEqual(b.request.Contexts[known], context) {
			return known
		}
	}
	b.request.Contexts = append(b.request.Contexts, context)
	index := len(b.request.Contexts) - 1
	b.contexts[string(text)] = append(b.contexts[string(text)], index)
	return index
}
