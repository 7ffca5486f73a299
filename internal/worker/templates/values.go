// Package templates runs untrusted code: the templates of charts and of values, and kustomizations.
// A template can use all memory, run for ever or end the process. So this package may not run in
// the provider's own process; main starts it as a worker.
package templates

import (
	"bytes"
	"context"
	"errors"
	"text/template"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// InProcess runs templates in the process of the caller. Only tests may use it, because a
// template can end that process.
type InProcess struct{}

// Evaluate runs the templates of request.
func (InProcess) Evaluate(_ context.Context, request target.Templates) ([]target.Evaluated, error) {
	return EvaluateValues(request), nil
}

// EvaluateValues runs the templates of request. It returns one result for each run, in
// their order, and changes nothing in request.
func EvaluateValues(request target.Templates) []target.Evaluated {
	base := newBase()
	sets := make([]*templateSet, len(request.Sets))
	for i, set := range request.Sets {
		sets[i] = parseSet(base, set)
	}
	results := make([]target.Evaluated, len(request.Runs))
	for i, run := range request.Runs {
		results[i] = sets[run.Set].run(request.Contexts[run.Context])
	}
	return results
}

// newBase returns an empty template that has the delimiters and functions.
func newBase() *template.Template {
	return template.New("").Delims(target.LeftDelim, target.RightDelim).Option("missingkey=error").Funcs(functions())
}

// templateSet is a set whose templates are parsed once for all its runs.
type templateSet struct {
	target.TemplateSet

	base   *template.Template
	parsed []*template.Template
	// failure is set if a template cannot be parsed.
	failure *target.TemplateFailure
}

func parseSet(base *template.Template, set target.TemplateSet) *templateSet {
	s := &templateSet{TemplateSet: set, base: base, parsed: make([]*template.Template, len(set.Templates))}
	for _, i := range parseOrder(set) {
		t := set.Templates[i]
		var err error
		if s.parsed[i], err = parseText(base, t.Place, t.Text); err != nil {
			s.failure = s.locate(t, nil, err)
			return s
		}
	}
	return s
}

// parseOrder returns the indices of templates in the order in which they are parsed. It
// decides which error is reported if several templates cannot be parsed.
func parseOrder(set target.TemplateSet) []int {
	order := make([]int, len(set.Templates))
	for i := range order {
		order[i] = i
		if set.FirstParsedLast {
			order[i] = (i + 1) % len(order)
		}
	}
	return order
}

// parseText parses one template. It gets a copy of base, so that templates that it defines
// are not seen by others.
func parseText(base *template.Template, place, text string) (*template.Template, error) {
	own, err := base.Clone()
	if err != nil {
		return nil, err
	}
	return own.New(place).Parse(text)
}

// run runs all templates with one context, because a template can change the values that the next
// templates read.
func (s *templateSet) run(facts map[string]any) target.Evaluated {
	if s.failure != nil {
		return target.Evaluated{Failure: s.failure}
	}
	var result target.Evaluated
	own := fleetyaml.CopyValues(facts) // Functions such as set change the context.
	for i, t := range s.Templates {
		text, err := execute(s.parsed[i], own)
		if err != nil {
			result.Failure = s.locate(t, facts, err)
			return result
		}
		result.Texts = append(result.Texts, text)
	}
	return result
}

func execute(t *template.Template, facts map[string]any) (string, error) {
	var text bytes.Buffer
	if err := t.Execute(&text, facts); err != nil {
		return "", err
	}
	return text.String(), nil
}

// locate finds the part of t that causes err, by running the parts one after the other. facts is
// nil if t cannot be parsed.
func (s *templateSet) locate(t target.Template, facts map[string]any, err error) *target.TemplateFailure {
	var own map[string]any
	if facts != nil {
		own = fleetyaml.CopyValues(facts)
	}
	for _, part := range t.Parts {
		if err := s.try(part, own); err != nil {
			return failureOf(part.Place, err)
		}
	}
	return failureOf(t.Place, err)
}

func (s *templateSet) try(part target.TemplatePart, facts map[string]any) error {
	parsed, err := parseText(s.base, part.Place, part.Text)
	if err != nil || facts == nil {
		return err
	}
	_, err = execute(parsed, facts)
	return err
}

func failureOf(place string, err error) *target.TemplateFailure {
	failure := &target.TemplateFailure{Place: place, Cause: err.Error()}
	if nonHermetic, ok := errors.AsType[*target.NonHermeticError](err); ok {
		failure.NonHermetic = nonHermetic.Function
	}
	return failure
}
