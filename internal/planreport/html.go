package planreport

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
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
	data, err := json.Marshal(withObjectLists(report))
	if err != nil {
		return nil, fmt.Errorf("writing the data of a report: %w", err)
	}
	// The Replacer makes one pass: it does not search the inserted texts.
	return []byte(strings.NewReplacer(
		"{script-hash}", sourceOf(script), "{style-hash}", sourceOf(style),
		"{style}", style, "{data}", string(data), "{script}", script,
	).Replace(page)), nil
}

// withObjectLists returns a report that has each list of objects once. Many clusters have the same
// list, and without this a page of a thousand deployments is larger than a megabyte.
func withObjectLists(report Report) Report {
	report.Targets = slices.Clone(report.Targets)
	for i := range report.Targets {
		t := &report.Targets[i]
		t.Deployments, t.ObjectLists = slices.Clone(t.Deployments), map[string][]Object{}
		ids := map[string]string{}
		for j := range t.Deployments {
			d := &t.Deployments[j]
			if len(d.Objects) == 0 {
				continue
			}
			content := fmt.Sprintf("%q", d.Objects)
			if ids[content] == "" {
				ids[content] = strconv.Itoa(len(ids) + 1)
				t.ObjectLists[ids[content]] = d.Objects
			}
			d.Objects, d.ObjectsList = nil, ids[content]
		}
	}
	return report
}

// maxListed is how many objects the lists of a page may have, counted for each deployment that has
// them. A program can write a small page in which many deployments share a large list.
const maxListed = 2_000_000

// withObjects reverses withObjectLists. It reports whether each list is there, within the limit.
func withObjects(report *Report) bool {
	listed := 0
	for i := range report.Targets {
		t := &report.Targets[i]
		for j := range t.Deployments {
			d := &t.Deployments[j]
			if d.ObjectsList == "" {
				continue
			}
			list, ok := t.ObjectLists[d.ObjectsList]
			if listed += len(list); !ok || listed > maxListed {
				return false
			}
			d.Objects, d.ObjectsList = slices.Clone(list), ""
		}
		t.ObjectLists = nil
	}
	return true
}

// sourceOf returns the source that allows a script or a style in the page's content security
// policy.
func sourceOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// extractHTML returns the JSON of a page.
func extractHTML(content []byte) ([]byte, error) {
	_, after, found := bytes.Cut(content, []byte(dataBegins))
	data, _, ended := bytes.Cut(after, []byte(dataEnds))
	if !found || !ended {
		return nil, errors.New("it is no report")
	}
	return data, nil
}
