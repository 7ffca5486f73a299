package policy

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

const (
	// maxPattern limits a pattern in bytes, and maxPatterns the number of patterns in one list.
	maxPattern  = 1000
	maxPatterns = 1000
)

// pattern is a compiled glob or expression. Matching takes time linear in the length of the text.
type pattern struct {
	text string
	re   *regexp.Regexp
}

// patterns are nil if nothing is restricted.
type patterns []pattern

func (p patterns) match(texts ...string) bool {
	return slices.ContainsFunc(p, func(one pattern) bool { return slices.ContainsFunc(texts, one.re.MatchString) })
}

// allow reports whether one of the texts matches, or nothing is restricted.
func (p patterns) allow(texts ...string) bool { return p == nil || p.match(texts...) }

// String lists the patterns.
func (p patterns) String() string {
	if len(p) == 0 {
		return "nothing is allowed"
	}
	return "allowed: " + listOf(p.texts())
}

func (p patterns) texts() []string {
	texts := make([]string, len(p))
	for i, one := range p {
		texts[i] = one.text
	}
	return texts
}

// listOf joins texts. It names only the first of many.
func listOf(texts []string) string {
	const most = 10
	if len(texts) <= most {
		return strings.Join(texts, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(texts[:most], ", "), len(texts)-most)
}

// compileGlobs compiles a list. The result is nil if the list is nil.
func compileGlobs(texts []string) (patterns, error) {
	if texts == nil {
		return nil, nil
	}
	if len(texts) > maxPatterns {
		return nil, fmt.Errorf("more than %d patterns", maxPatterns)
	}
	made := make(patterns, len(texts))
	for i, text := range texts {
		var err error
		if made[i], err = compileGlob(text); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// compileGlob compiles a pattern in which * matches any characters but /, ** any characters, and ?
// one character but /. It matches whole texts.
func compileGlob(text string) (pattern, error) {
	if err := checkLength(text); err != nil {
		return pattern{}, err
	}
	// The wildcards are escaped in the quoted text.
	wildcards := strings.NewReplacer(`\*\*`, ".*", `\*`, "[^/]*", `\?`, "[^/]")
	return compileExpression(text, `(?s:`+wildcards.Replace(regexp.QuoteMeta(text))+`)`)
}

// compileExpression compiles a regular expression that must match whole texts. text is shown to the
// user.
func compileExpression(text, expression string) (pattern, error) {
	re, err := regexp.Compile(`\A(?:` + expression + `)\z`)
	if err != nil {
		return pattern{}, fmt.Errorf("pattern %q: %w", text, err)
	}
	return pattern{text: text, re: re}, nil
}

func checkLength(text string) error {
	if text == "" {
		return errors.New("a pattern is empty")
	}
	if len(text) > maxPattern {
		return fmt.Errorf("a pattern is longer than %d bytes", maxPattern)
	}
	return nil
}

func requirementsOf(required map[string]string) ([]requirement, error) {
	var made []requirement
	for _, key := range slices.Sorted(maps.Keys(required)) {
		value, err := compileGlob(required[key])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		made = append(made, requirement{key: key, value: value})
	}
	return made, nil
}
