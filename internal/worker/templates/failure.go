package templates

import (
	"errors"
	"path"
	"regexp"
	"strconv"
	"strings"
	"text/template"

	"helm.sh/helm/v3/pkg/chart"
)

// publicFailure returns the part of a template's error that the template has not made: where it is,
// and the function that failed. The text of a fail or a required is part of it if the template
// contains it as a literal. Helm's errors are texts; only what Helm and text/template write at their
// beginning is read, and only if it names a template of the chart.
func publicFailure(c *chart.Chart, err error) string {
	templates := map[string]string{}
	addTemplates(templates, c)
	if _, ok := err.(template.ExecError); ok { //nolint:errorlint // a wrapped error is that of another call
		return failedCall(templates, err)
	}
	if failure, ok := strings.CutPrefix(err.Error(), "execution error at ("); ok {
		place, text := cutPlace(templates, failure)
		if text, ok = strings.CutPrefix(text, "): "); ok && isLiteralAt(templates, place, text) {
			return place + ": " + text
		}
		return withCall(place, "fail or required")
	}
	if failure, ok := strings.CutPrefix(err.Error(), "parse error at ("); ok {
		place, _ := cutPlace(templates, failure)
		return place
	}
	return ""
}

// addTemplates adds the templates of a chart and its subcharts by Helm's names.
func addTemplates(to map[string]string, c *chart.Chart) {
	for _, file := range c.Templates {
		to[path.Join(c.ChartFullPath(), file.Name)] = string(file.Data)
	}
	for _, child := range c.Dependencies() {
		addTemplates(to, child)
	}
}

// failedCall follows the calls of include down to the one that failed. It does not follow tpl: the
// lines of a text passed to tpl can be made by a template.
func failedCall(templates map[string]string, err error) (failed string) {
	for {
		call, ok := err.(template.ExecError) //nolint:errorlint // a wrapped error is that of another call
		if !ok {
			return failed
		}
		text, _ := strings.CutPrefix(call.Error(), "template: ")
		place, text := cutPlace(templates, text)
		if place == "" {
			return failed
		}
		failed = withCall(place, functionIn(text))
		err = errors.Unwrap(errors.Unwrap(call)) // What the function has returned.
	}
}

func withCall(place, function string) string {
	if place == "" || function == "" {
		return place
	}
	return place + ", in " + function
}

var lineAndColumn = regexp.MustCompile(`^:[0-9]+(:[0-9]+)?`)

// cutPlace cuts the name of a template with its line and column from the beginning of a text.
func cutPlace(templates map[string]string, text string) (place, rest string) {
	for name := range templates {
		after, ok := strings.CutPrefix(text, name)
		if at := lineAndColumn.FindString(after); ok && at != "" && len(name) > len(place) {
			place, rest = name+at, after[len(at):]
		}
	}
	return place, rest
}

var firstWord = regexp.MustCompile(`^[\w.$]+`)

// functionIn returns the first word of the code that text/template quotes after a place, such as
// `: executing "web/templates/a.yaml" at <include "x" .>: `.
func functionIn(text string) string {
	text, _ = strings.CutPrefix(text, ": executing ")
	quoted, err := strconv.QuotedPrefix(text)
	if err != nil {
		return ""
	}
	code, ok := strings.CutPrefix(text[len(quoted):], " at <")
	if !ok {
		return ""
	}
	return firstWord.FindString(code)
}

// isLiteralAt reports whether a template calls fail or required with this text at a place, such as
// "web/templates/a.yaml:3:4".
func isLiteralAt(templates map[string]string, place, text string) bool {
	rest, column, _ := cutLast(place)
	name, line, ok := cutLast(rest)
	code, found := templates[name]
	if !ok || !found {
		return false
	}
	for range line - 1 {
		if _, code, ok = strings.Cut(code, "\n"); !ok {
			return false
		}
	}
	code = code[min(column, len(code)):]
	for _, function := range []string{"fail ", "required "} {
		for _, quoted := range []string{strconv.Quote(text), "`" + text + "`"} {
			if strings.HasPrefix(code, function+quoted) {
				return true
			}
		}
	}
	return false
}

// cutLast cuts the last number from a place.
func cutLast(place string) (rest string, number int, ok bool) {
	i := strings.LastIndexByte(place, ':')
	if i < 0 {
		return place, 0, false
	}
	number, err := strconv.Atoi(place[i+1:])
	return place[:i], number, err == nil
}
