// Package report writes the messages about bundles, plans, applies and refreshes, as plain
// values. Terraform shows only the first of several messages with one summary. So each cause
// is one message for all deployments that it concerns.
package report

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// Severity is the severity of a message.
type Severity int

// The severities.
const (
	Error Severity = iota
	Warning
)

// Message is one error or warning.
type Message struct {
	Severity Severity
	// Attribute is the path of the attribute that the message is about. It begins with the
	// name of an attribute, followed by names, indexes of lists, and MapKeys. It is empty for
	// a message about a whole resource.
	Attribute       []any
	Summary, Detail string
}

// MapKey is a key of a map in the path to an attribute.
type MapKey = fleetyaml.MapKey

// failure returns one error.
func failure(summary, detail string) []Message {
	return []Message{{Severity: Error, Summary: summary, Detail: detail}}
}

// failureIf returns one error if a condition is met.
func failureIf(met bool, summary, detail string) []Message {
	if !met {
		return nil
	}
	return failure(summary, detail)
}

// warningIf returns one warning if a condition is met.
func warningIf(met bool, summary, detail string) []Message {
	if !met {
		return nil
	}
	return warning(summary, detail)
}

// failureAt returns one error in an attribute.
func failureAt(attribute []any, summary, detail string) []Message {
	return []Message{{Severity: Error, Attribute: attribute, Summary: summary, Detail: detail}}
}

// warning returns one warning.
func warning(summary, detail string) []Message {
	return []Message{{Severity: Warning, Summary: summary, Detail: detail}}
}

// Failed reports an error of which only the text is known.
func Failed(summary string, err error) []Message { return failure(summary, Sentence(err)) }

// Sentence returns an error as a sentence. A URL, a path or the name of an attribute at the
// beginning stays as it is. An error has a method BeginsWithName if it begins with a name that
// looks like a word.
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

// beginsWithWord reports whether a text begins with a plain English word: small letters,
// perhaps with a hyphen, an apostrophe or a punctuation mark.
func beginsWithWord(text string) bool {
	word, _, _ := strings.Cut(text, " ")
	word = strings.TrimRight(word, ",:;.\n")
	return word != "" && strings.IndexFunc(word, func(r rune) bool { return !unicode.IsLower(r) && r != '-' && r != '\'' }) < 0
}

// Texts about clusters in errors that occur before any write. In an apply, others can have
// changed the clusters in the meantime.
const (
	notBegun  = "No deployment of this target was started."
	readsOnly = "Reading bundles changes nothing on any cluster."
)

// errorsOf returns the errors that err joins, or err itself if it joins none.
func errorsOf(err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// listOf returns lines as the items of a list.
func listOf(lines []string) string { return "  - " + strings.Join(lines, "\n  - ") }
