package planreport

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

var (
	//go:embed page/report.html
	page string
	//go:embed page/report.css
	style string
	//go:embed page/report.js
	script string
)

// The texts before and after the JSON in a page. JSON is written with "<" escaped, so dataEnds is
// the first "</script>" after dataBegins.
const (
	dataBegins = `<script type="application/json" id="data">`
	dataEnds   = `</script>`
)

// renderHTML returns a page that loads nothing. The data is a block of JSON that no browser runs.
// encoding/json escapes <, >, & and the line breaks of JavaScript, so no text in the JSON ends the
// block.
func renderHTML(report Report) ([]byte, error) {
	data, err := json.Marshal(pack(report))
	if err != nil {
		return nil, fmt.Errorf("writing the data of a report: %w", err)
	}
	// The Replacer makes one pass: it does not search the inserted texts.
	return []byte(strings.NewReplacer(
		"{script-hash}", sourceOf(script), "{style-hash}", sourceOf(style),
		"{style}", style, "{data}", string(data), "{script}", script,
	).Replace(page)), nil
}

// sourceOf returns the source that allows a script or a style in the page's content security
// policy.
func sourceOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// parseHTML reads the report of a page.
func parseHTML(content []byte) (Report, error) {
	_, after, found := bytes.Cut(content, []byte(dataBegins))
	data, _, ended := bytes.Cut(after, []byte(dataEnds))
	if !found || !ended {
		return Report{}, errors.New("it is no report")
	}
	var read packed
	if err := json.Unmarshal(data, &read); err != nil {
		return Report{}, fmt.Errorf("reading a report: %w", err)
	}
	report, err := read.unpack()
	if err != nil {
		return Report{}, err
	}
	return checked(report)
}
