package sops

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// masked stands where a secret was.
	masked = "(sensitive value)"
	// shortestPart is the length from which a secret is looked for inside of words.
	// Shorter ones are masked as whole words, from shortestWord on.
	shortestPart = 8
	shortestWord = 3
)

// Mask replaces secrets in a text: as they are, line by line, in base64, and as JSON and URLs
// write them.
func Mask(text string, secrets []string) string {
	if len(secrets) == 0 || text == "" {
		return text
	}
	for _, form := range formsOf(secrets) {
		if len(form) >= shortestPart {
			text = strings.ReplaceAll(text, form, masked)
			continue
		}
		text = replaceWord(text, form)
	}
	return text
}

// formsOf returns the texts that secrets can stand as, the longest first: one can be part of
// another.
func formsOf(secrets []string) []string {
	known := map[string]bool{}
	var forms []string
	add := func(form string) {
		if form = strings.TrimSpace(form); len(form) >= shortestWord && !known[form] {
			known[form] = true
			forms = append(forms, form)
		}
	}
	for _, secret := range secrets {
		if decoded, err := base64.StdEncoding.DecodeString(secret); err == nil && utf8.Valid(decoded) {
			addForms(add, string(decoded))
		}
		addForms(add, secret)
	}
	slices.SortFunc(forms, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return forms
}

func addForms(add func(string), secret string) {
	add(secret)
	add(base64.StdEncoding.EncodeToString([]byte(secret)))
	add(base64.URLEncoding.EncodeToString([]byte(secret)))
	add(url.QueryEscape(secret))
	add(url.PathEscape(secret))
	if quoted, err := json.Marshal(secret); err == nil {
		add(string(quoted[1 : len(quoted)-1]))
	}
	if !strings.Contains(secret, "\n") {
		return
	}
	for line := range strings.Lines(secret) {
		if len(strings.TrimSpace(line)) >= shortestPart {
			add(line)
		}
	}
}

// replaceWord replaces a text where no letter or digit stands beside it.
func replaceWord(text, word string) string {
	var replaced strings.Builder
	for {
		at := strings.Index(text, word)
		if at < 0 {
			replaced.WriteString(text)
			return replaced.String()
		}
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(word):])
		replaced.WriteString(text[:at])
		if isWordRune(before) || isWordRune(after) {
			replaced.WriteString(word)
		} else {
			replaced.WriteString(masked)
		}
		text = text[at+len(word):]
	}
}

func isWordRune(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}
