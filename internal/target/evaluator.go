package target

import (
	"context"
	"errors"
	"fmt"
)

const (
	// LeftDelim begins an action of a template.
	LeftDelim = "${"
	// RightDelim ends an action of a template.
	RightDelim = "}"
)

// Evaluator runs the templates of bundles. Templates are untrusted code and can crash the process
// that runs them, so the provider runs them in another process.
type Evaluator interface {
	// Evaluate returns one result for each run of the request, in the same order. It does not
	// change the request. It returns an error only if there is no result, for example because a
	// limit was exceeded; a template that fails is a result.
	Evaluate(ctx context.Context, request Templates) ([]Evaluated, error)
}

// Templates are the templates of one bundle and the contexts that they run with. The contexts
// consist of plain values: strings, bools, numbers, nil, lists and maps.
type Templates struct {
	Sets []TemplateSet
	// Contexts are the values of "." in a template. No two are equal.
	Contexts []map[string]any
	// Runs are the wanted pairs of a set and a context, each once.
	Runs []TemplateRun
}

// TemplateRun names a set and a context by their indices.
type TemplateRun struct {
	Set, Context int
}

// TemplateSet is a list of templates that run one after another with the same context. Templates
// can change the context.
type TemplateSet struct {
	Templates []Template
	// FirstParsedLast is true if the first template is parsed after the others. The first template
	// that cannot be parsed is the one that is reported.
	FirstParsedLast bool
}

// Template is a text with actions in it.
type Template struct {
	// Place is the option that the text is from.
	Place, Text string
	// Parts are the texts that Text was made of. They only serve to find the part that caused an
	// error.
	Parts []TemplatePart
}

// TemplatePart is a key or a value with a template in it.
type TemplatePart struct {
	Place, Text string
}

// Evaluated is the result of one run.
type Evaluated struct {
	// Texts are the templates of the set after templating, up to the one that failed.
	Texts []string
	// Failure is nil if no template failed.
	Failure *TemplateFailure
}

// TemplateFailure describes which template failed, and why.
type TemplateFailure struct {
	Place, Cause string
	// NonHermetic is the function that returned another result each time, "" for other causes.
	NonHermetic string
}

// err returns the error that the other process turned into the failure.
func (t *TemplateFailure) err() error {
	cause := &evaluatedError{text: t.Cause}
	if t.NonHermetic != "" {
		cause.err = &NonHermeticError{Function: t.NonHermetic}
	}
	return &TemplateError{Place: t.Place, Err: cause}
}

// evaluatedError is an error that another process reported.
type evaluatedError struct {
	text string
	err  error // The part of the cause that has a type, or nil.
}

func (e *evaluatedError) Error() string { return e.text }

func (e *evaluatedError) Unwrap() error { return e.err }

var errNoEvaluator = errors.New("there is no evaluator")

// run evaluates the request and checks that the number of results and texts is correct.
func (t *Templates) run(ctx context.Context, evaluator Evaluator) ([]Evaluated, error) {
	if len(t.Runs) == 0 {
		return nil, nil
	}
	if evaluator == nil {
		return nil, errNoEvaluator
	}
	results, err := evaluator.Evaluate(ctx, *t)
	if err != nil {
		return nil, err
	}
	if len(results) != len(t.Runs) {
		return nil, fmt.Errorf("the evaluator returned %d results for %d runs", len(results), len(t.Runs))
	}
	for i, result := range results {
		want, got := len(t.Sets[t.Runs[i].Set].Templates), len(result.Texts)
		if got > want || (got < want) != (result.Failure != nil) {
			return nil, fmt.Errorf("the evaluator returned %d texts for %d templates", got, want)
		}
	}
	return results, nil
}
