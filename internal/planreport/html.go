package planreport

import (
	"bytes"
	"compress/gzip"
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

// The texts before and after the data in a page. The data is base64, so dataEnds is the first
// "</script>" after dataBegins.
const (
	dataBegins = `<script type="text/plain" id="data">`
	dataEnds   = `</script>`
)

// renderHTML returns a page that loads nothing. The data is a block that no browser runs: JSON, which is
// compressed because many deployments have equal texts and objects.
func renderHTML(report Report) ([]byte, error) {
	var data bytes.Buffer
	compressed := gzip.NewWriter(&data)
	if err := errors.Join(json.NewEncoder(compressed).Encode(report), compressed.Close()); err != nil {
		return nil, fmt.Errorf("writing the data of a report: %w", err)
	}
	// The Replacer makes one pass: it does not search the inserted texts.
	return []byte(strings.NewReplacer(
		"{script-hash}", sourceOf(script), "{style-hash}", sourceOf(style),
		"{style}", style, "{data}", base64.StdEncoding.EncodeToString(data.Bytes()), "{script}", script,
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
	compressed, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(data)))
	if err != nil {
		return Report{}, fmt.Errorf("reading a report: %w", err)
	}
	text, err := readLimited(compressed)
	if err != nil {
		return Report{}, fmt.Errorf("reading a report: %w", err)
	}
	return parseJSON(text)
}
