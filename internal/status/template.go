package status

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/rollout"
)

// NamedError is an error whose text names objects of one deployment, such as its release. Errors of
// several deployments have one cause if they differ in the names only.
type NamedError struct {
	// Format is the text with a verb for each of Names.
	Format string
	Names  []any
	// Err is the cause, nil for none.
	Err error
}

// Named returns err with a text before it that names objects of one deployment.
func Named(err error, format string, names ...any) error {
	return &NamedError{Format: format, Names: names, Err: err}
}

func (e *NamedError) Error() string {
	text := fmt.Sprintf(e.Format, e.Names...)
	if e.Err == nil {
		return text
	}
	return text + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *NamedError) Unwrap() error { return e.Err }

// Template implements templated.
func (e *NamedError) Template() string {
	if e.Err == nil {
		return e.Format
	}
	names := make([]string, len(e.Names))
	for i, name := range e.Names {
		names[i] = fmt.Sprint(name)
	}
	return e.Format + ": " + withoutNames(Template(e.Err), names)
}

// quotingError is an error whose text quotes names of objects.
type quotingError struct {
	error

	names []string
}

// Quoting returns err with names of objects that its text quotes, as the answers of API servers do.
func Quoting(err error, names ...string) error {
	if len(names) == 0 {
		return err
	}
	return &quotingError{error: err, names: names}
}

// Unwrap returns the error without the names.
func (e *quotingError) Unwrap() error { return e.error }

// Template implements templated.
func (e *quotingError) Template() string { return withoutNames(Template(e.error), e.names) }

func withoutNames(text string, names []string) string {
	for _, name := range names {
		text = strings.ReplaceAll(text, strconv.Quote(name), `"%s"`)
	}
	return text
}

// templated is an error that knows its text without the names of objects.
type templated interface{ Template() string }

// Template returns what the errors of several deployments with one cause have in common. It is only
// compared and never shown, because it can contain what is masked in the text of the error.
func Template(err error) string {
	_, isUnreachable := errors.AsType[*UnreachableError](err)
	_, isHeld := errors.AsType[*rollout.HeldError](err)
	if isUnreachable || isHeld {
		return Cause(err)
	}
	if known, ok := err.(templated); ok {
		return known.Template()
	}
	text := err.Error()
	inner := wrapped(err, text)
	if inner == nil {
		return strings.TrimSpace(text)
	}
	before, isPrefix := strings.CutSuffix(text, inner.Error())
	if !isPrefix { // The text was masked.
		before = ""
	}
	return before + Template(inner)
}

// wrapped returns the error that another one wraps, nil if there is none, or if it wraps several with
// a text of each.
func wrapped(err error, text string) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		if errs := joined.Unwrap(); len(errs) > 0 && errs[0].Error() == text {
			return errs[0]
		}
		return nil
	}
	inner := errors.Unwrap(err)
	if inner == nil {
		return nil
	}
	// An error can be joined with another one that has its type and no text.
	if joined, ok := inner.(interface{ Unwrap() []error }); ok {
		if errs := joined.Unwrap(); len(errs) == 0 || errs[0].Error() != text {
			return nil
		}
		return joined.Unwrap()[0]
	}
	return inner
}

// Template implements templated.
func (e *DeniedError) Template() string { return "denied: " + Template(e.Err) }

// Template implements templated.
func (e *BusyError) Template() string { return "busy: " + Template(e.Err) }
