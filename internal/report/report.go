// Package report words what is reported about bundles, plans, applies and refreshes, as plain
// values. Of several messages with one summary Terraform shows the first alone, so each is one
// message for all deployments that it concerns.
package report

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Severity is how much a message matters.
type Severity int

// The severities.
const (
	Error Severity = iota
	Warning
)

// Message is one thing to report.
type Message struct {
	Severity Severity
	// Attribute is the attribute that the message is about: the name of an attribute, and
	// below it names, indexes of lists, and MapKeys. A message about a whole resource has none.
	Attribute       []any
	Summary, Detail string
}

// MapKey is a key of a map in the path to an attribute.
type MapKey string

// failure is a report of one error.
func failure(summary, detail string) []Message {
	return []Message{{Severity: Error, Summary: summary, Detail: detail}}
}

// failureAt is a report of one error in an attribute.
func failureAt(attribute []any, summary, detail string) []Message {
	return []Message{{Severity: Error, Attribute: attribute, Summary: summary, Detail: detail}}
}

// warning is a report of one warning.
func warning(summary, detail string) []Message {
	return []Message{{Severity: Warning, Summary: summary, Detail: detail}}
}

// Failed reports an error of which nothing more is known than its text.
func Failed(summary string, err error) []Message { return failure(summary, Sentence(err)) }

// Sentence words an error as a sentence. A URL, a path or the name of an attribute at its
// beginning stays as it is. An error that begins with a name that looks like a word has a
// method BeginsWithName.
func Sentence(err error) string {
	text := err.Error()
	if _, named := err.(interface{ BeginsWithName() }); !named && beginsWithWord(text) {
		first, size := utf8.DecodeRuneInString(text)
		text = string(unicode.ToUpper(first)) + text[size:]
	}
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}

// beginsWithWord says whether a text begins with a word of plain English: small letters,
// perhaps with a hyphen, an apostrophe or a punctuation mark.
func beginsWithWord(text string) bool {
	word, _, _ := strings.Cut(text, " ")
	word = strings.TrimRight(word, ",:;.\n")
	return word != "" && strings.IndexFunc(word, func(r rune) bool { return !unicode.IsLower(r) && r != '-' && r != '\'' }) < 0
}

// What errors say of clusters that come before anything is written. In an apply, others
// can have changed them by then.
const (
	notBegun  = "No deployment of this target was started."
	readsOnly = "Reading bundles changes nothing on any cluster."
)

// errorsOf returns the errors that are joined in one, and that one if none are.
func errorsOf(err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// listOf writes each line as an item of a list.
func listOf(lines []string) string { return "  - " + strings.Join(lines, "\n  - ") }
