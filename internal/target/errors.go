package target

import (
	"fmt"
	"strings"
)

// RuleError reports what is wrong with one rule. Index counts from 0.
type RuleError struct {
	Index int
	Err   error
}

// Error counts rules from 1, as people do.
func (e *RuleError) Error() string { return fmt.Sprintf("rule %d: %v", e.Index+1, e.Err) }

// Unwrap returns the cause.
func (e *RuleError) Unwrap() error { return e.Err }

func listing(what string, known []string) string {
	if len(known) == 0 {
		return "there are no " + what
	}
	return "the " + what + " are " + strings.Join(known, ", ")
}

// TemplateError reports which value of a bundle cannot be templated for a cluster.
type TemplateError struct {
	// File is the fleet.yaml, "" for options from elsewhere. Place is the option, for example
	// "helm.values.region". It is "" if the templates could not be run, for example because a limit was
	// exceeded: then the template that caused the error is not known.
	File, Place string
	Err         error
}

// Error names file and place.
func (e *TemplateError) Error() string {
	switch {
	case e.Place == "" && e.File == "":
		return fmt.Sprintf("running templates: %v", e.Err)
	case e.Place == "":
		return fmt.Sprintf("running the templates of %s: %v", e.File, e.Err)
	case e.File == "":
		return fmt.Sprintf("templating %s: %v", e.Place, e.Err)
	}
	return fmt.Sprintf("templating %s of %s: %v", e.Place, e.File, e.Err)
}

// Unwrap returns the cause.
func (e *TemplateError) Unwrap() error { return e.Err }

// NonHermeticError reports that a template calls a function that returns another result each time.
// An apply could then not do what was planned.
type NonHermeticError struct {
	Function string
}

// Error also describes what to use instead.
func (e *NonHermeticError) Error() string {
	return fmt.Sprintf("%s returns another result each time, so every plan would show a change; pass the value from Terraform", e.Function)
}

// ReleaseNameError reports that Helm does not accept a release name.
type ReleaseNameError struct {
	Name string
}

// Error describes the names that Helm accepts.
func (e *ReleaseNameError) Error() string {
	return fmt.Sprintf("%q is not a valid name of a Helm release: use at most %d lower case letters, digits, \"-\" and \".\", "+
		"with a letter or digit at both ends", e.Name, maxReleaseName)
}
